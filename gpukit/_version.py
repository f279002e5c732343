"""The one place of the version number; read without importing anything."""

__version__ = "0.1.0"
