"""The one writer of files.

Each method is one step that a crash can fall before or after; tests let it fall inside as well.
"""

from __future__ import annotations

import errno
import os
import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

FILE_MODE = 0o644
FOLDER_MODE = 0o755

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2  # linux/fs.h


class Disk:
    """Changes the file system, durably: what a method wrote is on the medium when it returns."""

    def make_folder(self, path: Path) -> None:
        """Make one folder that everybody can read, whatever the umask."""
        path.mkdir()
        path.chmod(FOLDER_MODE)

    def write(self, path: Path, data: bytes, mode: int = FILE_MODE) -> None:
        """Write a new file, whatever the umask."""
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with open(fd, "wb") as file:  # noqa: PTH123 - a descriptor, not a path
            file.write(data)
            file.flush()
            os.fchmod(fd, mode)
            os.fsync(fd)

    def link(self, source: Path, path: Path) -> None:
        """Give a file, or a symbolic link itself, a second name."""
        os.link(source, path, follow_symlinks=False)

    def copy_attributes(self, source: Path, path: Path) -> None:
        """Give a folder the mode and the extended attributes of another."""
        shutil.copystat(source, path)

    def rename(self, source: Path, path: Path) -> None:
        """Rename, replacing a file or an empty folder."""
        source.rename(path)

    def exchange(self, one: Path, other: Path) -> None:
        """Swap two folders in one step.

        Raises:
            OSError: The file system or the C library cannot do that.
        """
        import ctypes  # noqa: PLC0415 - only an installation needs it

        library = ctypes.CDLL(None, use_errno=True)
        function = getattr(library, "renameat2", None)
        if function is None:
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS), str(other))
        function.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
        if function(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), str(other))

    def remove(self, path: Path) -> None:
        """Remove a file."""
        path.unlink()

    def remove_empty_folder(self, path: Path) -> None:
        """Remove a folder with nothing in it."""
        path.rmdir()

    def remove_tree(self, path: Path) -> None:
        """Remove a folder with all that it holds."""
        shutil.rmtree(path)

    def sync(self, folder: Path) -> None:
        """Make the names in a folder durable."""
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
