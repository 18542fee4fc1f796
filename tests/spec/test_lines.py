import pytest

from quadgen.spec.lines import Lines

TEXT = '''\
# a comment
[defaults]
image = "x"  # [not.a.header]

[service.a]
serve = { max-num-seqs = 1, deep = { mode = 3 } }
volumes = [
  "/a:/a",  # = ]
  "/b:/b",
]
text = """
[service.b]
model = "no"
"""
a.b."c.d" = 1

[service."x y".env]
A = \'\'\'
[x]\'\'\'
B = "b"
[[list]]
one = 1
'''


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("defaults",), 2),
        (("defaults", "image"), 3),
        (("service",), 5),
        (("service", "a", "serve"), 6),
        (("service", "a", "serve", "max-num-seqs"), 6),
        (("service", "a", "serve", "deep", "mode"), 6),
        (("service", "a", "volumes"), 7),
        (("service", "a", "volumes", 1), 7),
        (("service", "a", "text"), 11),
        (("service", "a", "a", "b", "c.d"), 15),
        (("service", "x y"), 17),
        (("service", "x y", "env", "B"), 20),
        (("service", "x y", "missing"), 17),
        (("service", "b"), 5),
        (("list", "one"), 22),
        (("nothing",), None),
        ((), None),
    ],
)
def test_each_key_has_its_line(path: tuple[str | int, ...], line: int | None) -> None:
    assert Lines(TEXT).find(path) == line


def test_windows_line_ends_count_as_one() -> None:
    assert Lines(TEXT.replace("\n", "\r\n")).find(("service", "x y", "env", "B")) == 20
