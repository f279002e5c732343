"""docs/roofline.md shows the newest rows of `gpukit bench roofline`, and every kernel is in a section."""

from gpukit.bench import measurement, roofline


def test_the_pages_show_the_rows(build, tmp_path):
    path, nothing = tmp_path / "rows.csv", tmp_path / "none.csv"
    rows = [
        measurement.Row("roofline: copy", "1024 MiB", "generated", [4000.0], "GB/s"),
        measurement.Row(
            "roofline: X v", "web", "generated", [73.0], "% of the copy bandwidth", "4 ms; 1.2 GB; 3 Gflop"
        ),
    ]
    measurement.append(path, [measurement.line(row, "cuda:0 (NVIDIA H200)") for row in rows])
    text = build.roofline_tables(path)
    section = text.split("[start:ranking]")[1].split("[end:ranking]")[0]
    assert "| X v | web | H200 | 4 ms | 1.2 GB | 3 Gflop | 73 % of the copy bandwidth |" in section
    assert "| copy | H200 | 4000 GB/s |" in text
    assert build.roofline_tables(nothing).count("Not measured yet") == 1 + len(build.ROOFLINE)


def test_every_kernel_has_a_page(build):
    for name, *_ in roofline.KERNELS:
        assert len([page for page, names in build.ROOFLINE.items() if build.of(names, [{"what": name}])]) == 1, name
