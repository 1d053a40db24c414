"""Files in memory. A mapping is a copy: what is written to it is in the file after `flush` or `close`, and at the end of
its process."""

import os
import weakref

__all__ = ["mmap"]

error = OSError
PAGESIZE = ALLOCATIONGRANULARITY = 4096
MAP_SHARED, MAP_PRIVATE, MAP_ANON, MAP_ANONYMOUS = 1, 2, 32, 32
PROT_READ, PROT_WRITE, PROT_EXEC = 1, 2, 4
ACCESS_DEFAULT, ACCESS_READ, ACCESS_WRITE, ACCESS_COPY = range(4)
MADV_NORMAL, MADV_RANDOM, MADV_SEQUENTIAL, MADV_WILLNEED, MADV_DONTNEED = range(5)


def _write_back(target, content):
    fd, offset = target
    at = 0
    while at < len(content):
        at += os.pwrite(fd, memoryview(content)[at:], offset + at)


def _end(target, content):
    _write_back(target, content)
    os.close(target[0])


class mmap:
    """A mapping of a file, or of memory alone where `fileno` is -1."""

    def __init__(self, fileno, length, flags=MAP_SHARED, prot=PROT_READ | PROT_WRITE, access=ACCESS_DEFAULT, offset=0, *, trackfd=True):
        if length < 0:
            raise OverflowError("memory mapped length must be positive")
        if offset < 0:
            raise OverflowError("memory mapped offset must be positive")
        if access != ACCESS_DEFAULT and (flags != MAP_SHARED or prot != PROT_READ | PROT_WRITE):
            raise ValueError("mmap can't specify both access and flags, prot.")
        if not ACCESS_DEFAULT <= access <= ACCESS_COPY:
            raise ValueError("mmap invalid access parameter.")
        if access == ACCESS_DEFAULT:
            access = ACCESS_COPY if flags & MAP_PRIVATE else ACCESS_WRITE
            access = access if prot & PROT_WRITE else ACCESS_READ
        self._access, self._at, self._target, self._finish = access, 0, None, None
        if fileno == -1:
            if length == 0:
                raise ValueError("cannot mmap an empty file")
            self._content = bytearray(length)
            return
        size = os.fstat(fileno).st_size
        if length == 0:
            if size == 0:
                raise ValueError("cannot mmap an empty file")
            if offset >= size:
                raise ValueError("mmap offset is greater than file size")
            length = size - offset
        elif offset + length > size:
            raise ValueError("mmap length is greater than file size")
        self._content = bytearray(os.pread(fileno, length, offset))
        if access == ACCESS_WRITE:
            self._target = (os.dup(fileno), offset)
            self._finish = weakref.finalize(self, _end, self._target, self._content)

    def _check(self, writes=False):
        if self._content is None:
            raise ValueError("mmap closed or invalid")
        if writes and self._access == ACCESS_READ:
            raise TypeError("mmap can't modify a readonly memory map.")
        return self._content

    def __len__(self):
        return len(self._check())

    def __getitem__(self, key):
        found = self._check()[key]
        return bytes(found) if isinstance(key, slice) else found

    def __setitem__(self, key, value):
        content = self._check(writes=True)
        if isinstance(key, slice) and len(range(*key.indices(len(content)))) != len(value):
            raise IndexError("mmap slice assignment is wrong size")
        content[key] = value

    def __contains__(self, item):
        return item in self._check()

    def __iter__(self):
        return iter(bytes(self._check()))

    def __buffer__(self, flags):
        view = memoryview(self._check())
        return view.toreadonly() if self._access == ACCESS_READ else view

    def __enter__(self):
        self._check()
        return self

    def __exit__(self, *_):
        self.close()

    def __repr__(self):
        if self._content is None:
            return "<mmap.mmap closed=True>"
        access = ("DEFAULT", "READ", "WRITE", "COPY")[self._access]
        return f"<mmap.mmap closed=False, access=ACCESS_{access}, length={len(self)}, pos={self._at}, offset={self._target[1] if self._target else 0}>"

    @property
    def closed(self):
        return self._content is None

    def close(self):
        if self._content is not None:
            if self._finish is not None:
                self._finish()
            self._content = None

    def flush(self, offset=0, size=None, /):
        content = self._check()
        size = len(content) - offset if size is None else size
        if offset < 0 or size < 0 or offset + size > len(content):
            raise ValueError("flush values out of range")
        if self._target is not None:
            _write_back((self._target[0], self._target[1] + offset), content[offset : offset + size])

    def size(self):
        self._check()
        return os.fstat(self._target[0]).st_size if self._target else len(self)

    def tell(self):
        self._check()
        return self._at

    def seek(self, pos, whence=os.SEEK_SET, /):
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: len(self)}.get(whence)
        if base is None:
            raise ValueError("unknown seek type")
        if not 0 <= base + pos <= len(self):
            raise ValueError("seek out of range")
        self._at = base + pos
        return self._at

    def seekable(self):
        return True

    def read(self, n=None, /):
        content = self._check()
        end = len(content) if n is None or n < 0 else min(self._at + n, len(content))
        found, self._at = bytes(content[self._at : end]), end
        return found

    def read_byte(self):
        if self._at >= len(self):
            raise ValueError("read byte out of range")
        self._at += 1
        return self._content[self._at - 1]

    def readline(self):
        found = self._check().find(b"\n", self._at)
        return self.read(None if found < 0 else found + 1 - self._at)

    def write(self, bytes, /):
        content, data = self._check(writes=True), memoryview(bytes).cast("B")
        if self._at + len(data) > len(content):
            raise ValueError("data out of range")
        content[self._at : self._at + len(data)] = data
        self._at += len(data)
        return len(data)

    def write_byte(self, byte, /):
        self.write(byte.to_bytes())

    def find(self, sub, start=None, end=None, /):
        return self._check().find(sub, self._at if start is None else start, len(self) if end is None else end)

    def rfind(self, sub, start=None, end=None, /):
        return self._check().rfind(sub, self._at if start is None else start, len(self) if end is None else end)

    def move(self, dest, src, count, /):
        content = self._check(writes=True)
        if min(dest, src, count) < 0 or max(dest, src) + count > len(content):
            raise ValueError("source, destination, or count out of range")
        content[dest : dest + count] = content[src : src + count]

    def resize(self, newsize, /):
        content = self._check()
        if self._access not in (ACCESS_WRITE, ACCESS_DEFAULT):
            raise TypeError("mmap can't resize a readonly or copy-on-write memory map.")
        if newsize <= 0:
            raise ValueError("new size out of range")
        del content[newsize:]
        content.extend(bytes(newsize - len(content)))
        if self._target is not None:
            os.ftruncate(self._target[0], self._target[1] + newsize)

    def madvise(self, option, start=0, length=None, /):
        self._check()
