"""AES and its modes of operation, in Python. Correct, not in constant time: whoever could measure it is in the same sandbox."""

import struct

BLOCK = 16


def _tables():
    powers, logarithms, value = [0] * 255, [0] * 256, 1
    for exponent in range(255):
        powers[exponent], logarithms[value] = value, exponent
        value ^= value << 1
        value ^= 0x11B if value & 0x100 else 0
    box = [0] * 256
    for byte in range(256):
        inverse = powers[-logarithms[byte] % 255] if byte else 0
        spread = inverse | inverse << 8
        box[byte] = (inverse ^ spread >> 4 ^ spread >> 5 ^ spread >> 6 ^ spread >> 7) & 255 ^ 0x63
    back = [0] * 256
    for byte, image in enumerate(box):
        back[image] = byte

    def times(a, b):
        return powers[(logarithms[a] + logarithms[b]) % 255] if a and b else 0

    forward = [times(2, s) << 24 | s << 16 | s << 8 | times(3, s) for s in box]
    backward = [times(14, s) << 24 | times(9, s) << 16 | times(13, s) << 8 | times(11, s) for s in back]
    return bytes(box), bytes(back), _rotations(forward), _rotations(backward)


def _rotations(table):
    return [[word >> shift | (word << 32 - shift) & 0xFFFFFFFF for word in table] for shift in (0, 8, 16, 24)]


BOX, BACK, FORWARD, BACKWARD = _tables()


class Aes:
    """AES block cipher with one expanded key."""

    def __init__(self, key):
        count = len(key) // 4
        words = list(struct.unpack(f">{count}I", key))
        constant = 1
        for index in range(count, 4 * (count + 7)):
            word = words[-1]
            if index % count == 0:
                word = _substituted((word << 8 | word >> 24) & 0xFFFFFFFF) ^ constant << 24
                constant = constant << 1 ^ (0x11B if constant & 0x80 else 0)
            elif count == 8 and index % count == 4:
                word = _substituted(word)
            words.append(words[index - count] ^ word)
        self.keys = [words[index : index + 4] for index in range(0, len(words), 4)]
        self.back_keys = self.keys[:1] + [[_unmixed(word) for word in group] for group in self.keys[1:-1]] + self.keys[-1:]

    def encrypt(self, block):
        a, b, c, d = struct.unpack(">4I", block)
        (p, q, r, s), *rounds, last = self.keys
        a, b, c, d = a ^ p, b ^ q, c ^ r, d ^ s
        t0, t1, t2, t3 = FORWARD
        for p, q, r, s in rounds:
            a, b, c, d = (
                t0[a >> 24] ^ t1[b >> 16 & 255] ^ t2[c >> 8 & 255] ^ t3[d & 255] ^ p,
                t0[b >> 24] ^ t1[c >> 16 & 255] ^ t2[d >> 8 & 255] ^ t3[a & 255] ^ q,
                t0[c >> 24] ^ t1[d >> 16 & 255] ^ t2[a >> 8 & 255] ^ t3[b & 255] ^ r,
                t0[d >> 24] ^ t1[a >> 16 & 255] ^ t2[b >> 8 & 255] ^ t3[c & 255] ^ s,
            )
        return _last(BOX, last, (a, b, c, d), (b, c, d, a), (c, d, a, b), (d, a, b, c))

    def decrypt(self, block):
        a, b, c, d = struct.unpack(">4I", block)
        last, *rounds, (p, q, r, s) = self.back_keys
        a, b, c, d = a ^ p, b ^ q, c ^ r, d ^ s
        t0, t1, t2, t3 = BACKWARD
        for p, q, r, s in reversed(rounds):
            a, b, c, d = (
                t0[a >> 24] ^ t1[d >> 16 & 255] ^ t2[c >> 8 & 255] ^ t3[b & 255] ^ p,
                t0[b >> 24] ^ t1[a >> 16 & 255] ^ t2[d >> 8 & 255] ^ t3[c & 255] ^ q,
                t0[c >> 24] ^ t1[b >> 16 & 255] ^ t2[a >> 8 & 255] ^ t3[d & 255] ^ r,
                t0[d >> 24] ^ t1[c >> 16 & 255] ^ t2[b >> 8 & 255] ^ t3[a & 255] ^ s,
            )
        return _last(BACK, last, (a, b, c, d), (d, a, b, c), (c, d, a, b), (b, c, d, a))


def _last(box, key, *columns):
    words = (
        (box[w >> 24] << 24 | box[x >> 16 & 255] << 16 | box[y >> 8 & 255] << 8 | box[z & 255]) ^ k
        for w, x, y, z, k in zip(*columns, key)
    )
    return struct.pack(">4I", *words)


def _substituted(word):
    return BOX[word >> 24] << 24 | BOX[word >> 16 & 255] << 16 | BOX[word >> 8 & 255] << 8 | BOX[word & 255]


def _unmixed(word):
    return (
        BACKWARD[0][BOX[word >> 24]] ^ BACKWARD[1][BOX[word >> 16 & 255]]
        ^ BACKWARD[2][BOX[word >> 8 & 255]] ^ BACKWARD[3][BOX[word & 255]]
    )  # fmt: skip


def xor(a, b):
    return (int.from_bytes(a) ^ int.from_bytes(b)).to_bytes(len(a))


# ---------------------------------------------------------------- modes
#
# Each is a generator of functions from whole blocks, or from pieces of any length, to as many bytes.


def ecb(cipher, encrypting):
    step = cipher.encrypt if encrypting else cipher.decrypt
    return lambda data: b"".join(step(data[at : at + BLOCK]) for at in range(0, len(data), BLOCK))


def cbc(cipher, vector, encrypting):
    last = bytes(vector)

    def encrypt(data):
        nonlocal last
        out = []
        for at in range(0, len(data), BLOCK):
            last = cipher.encrypt(xor(data[at : at + BLOCK], last))
            out.append(last)
        return b"".join(out)

    def decrypt(data):
        nonlocal last
        out = []
        for at in range(0, len(data), BLOCK):
            block = data[at : at + BLOCK]
            out.append(xor(cipher.decrypt(block), last))
            last = block
        return b"".join(out)

    return encrypt if encrypting else decrypt


def stream(blocks):
    """A function that combines data with a stream of key blocks."""
    rest = b""

    def combine(data):
        nonlocal rest
        pieces, size = [rest], len(rest)
        while size < len(data):
            pieces.append(next(blocks))
            size += BLOCK
        key = b"".join(pieces)
        rest = key[len(data) :]
        return xor(data, key[: len(data)]) if data else b""

    return combine


def counter_blocks(cipher, start, bits=128):
    """The cipher of a counter in the last bits of a block, which goes on from 0 when it overflows."""
    fixed, number, size = int.from_bytes(start) >> bits << bits, int.from_bytes(start) % (1 << bits), 1 << bits
    while True:
        yield cipher.encrypt((fixed | number).to_bytes(BLOCK))
        number = (number + 1) % size


def output_blocks(cipher, vector):
    block = bytes(vector)
    while True:
        block = cipher.encrypt(block)
        yield block


def cfb(cipher, vector, encrypting, width):
    """Feedback of the enciphered text, of `width` bytes at a time."""
    register, key, seen = bytes(vector), b"", b""

    def combine(data):
        nonlocal register, key, seen
        out = bytearray()
        for byte in data:
            if not key:
                key = cipher.encrypt(register)[:width]
            made = byte ^ key[0]
            key = key[1:]
            out.append(made)
            seen += bytes([made if encrypting else byte])
            if len(seen) == width:
                register, seen = (register + seen)[-BLOCK:], b""
        return bytes(out)

    return combine


# ---------------------------------------------------------------- GCM

POLYNOMIAL = 0xE1 << 120


class Ghash:
    """The hash of GCM, of pieces of any length."""

    def __init__(self, key):
        # Products of the key with all values of a byte, and what a byte that leaves below adds.
        products, value = [0] * 256, int.from_bytes(key)
        for bit in range(7, -1, -1):
            products[1 << bit] = value
            value = value >> 1 ^ (POLYNOMIAL if value & 1 else 0)
        for byte in range(256):
            lowest = byte & -byte
            products[byte] = products[lowest] ^ products[byte ^ lowest] if byte != lowest else products[byte]
        self.products, self.leaving = products, [_shifted(byte) for byte in range(256)]
        self.value, self.rest, self.length = 0, b"", 0

    def update(self, data):
        self.length += len(data)
        data = self.rest + data
        whole = len(data) - len(data) % BLOCK
        self.rest = data[whole:]
        for at in range(0, whole, BLOCK):
            self._add(data[at : at + BLOCK])

    def fill(self):
        """Ends a part with zeros; returns its length in bits."""
        if self.rest:
            self._add(self.rest.ljust(BLOCK, b"\0"))
        bits, self.rest, self.length = 8 * self.length, b"", 0
        return bits

    def _add(self, block):
        value, products, leaving = self.value ^ int.from_bytes(block), self.products, self.leaving
        result = 0
        for byte in reversed(value.to_bytes(BLOCK)):
            result = result >> 8 ^ leaving[result & 255] ^ products[byte]
        self.value = result


def _shifted(byte):
    value = byte
    for _ in range(8):
        value = value >> 1 ^ (POLYNOMIAL if value & 1 else 0)
    return value


class Gcm:
    """State of GCM for one message: counter and hash."""

    def __init__(self, cipher, nonce):
        self.hash = Ghash(cipher.encrypt(bytes(BLOCK)))
        if len(nonce) == 12:
            first = bytes(nonce) + b"\0\0\0\1"
        else:
            hashed = Ghash(cipher.encrypt(bytes(BLOCK)))
            hashed.update(bytes(nonce))
            hashed.update(bytes(8) + hashed.fill().to_bytes(8))
            first = hashed.value.to_bytes(BLOCK)
        blocks = counter_blocks(cipher, first, 32)
        self.mask = next(blocks)
        self.combine = stream(blocks)
        self.aad_bits = None

    def authenticate(self, data):
        self.hash.update(data)

    def update(self, data, encrypting):
        if self.aad_bits is None:
            self.aad_bits = self.hash.fill()
        made = self.combine(data)
        self.hash.update(made if encrypting else data)
        return made

    def tag(self):
        if self.aad_bits is None:
            self.aad_bits = self.hash.fill()
        bits = self.hash.fill()
        self.hash.update(self.aad_bits.to_bytes(8) + bits.to_bytes(8))
        return xor(self.hash.value.to_bytes(BLOCK), self.mask)
