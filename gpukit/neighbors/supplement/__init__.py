"""The end of every search (lines 10 to 12 of Algorithm 1): scores of the selected items, and random items in empty
slots.

Random items of a row are distinct and have the score NaN. Integers and one exact division: equal on all devices.
"""
