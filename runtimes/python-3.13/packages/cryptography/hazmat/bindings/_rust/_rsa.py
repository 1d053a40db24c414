"""Keys of RSA: making, using, writing and reading them, in Python. Correct, not in constant time: whoever could measure it is in the
same sandbox."""

import base64
import hmac
import math
import os
import re
import secrets

# Trials of a number that may be prime: one that is not passes all of them with a chance below 2 ** -80.
TRIALS = 40
SMALL_PRIMES = [number for number in range(3, 2000, 2) if all(number % divisor for divisor in range(3, int(number**0.5) + 1, 2))]
RSA, PKCS8_ENCRYPTED = "1.2.840.113549.1.1.1", "1.2.840.113549.1.5.13"
PBKDF2, HMAC_SHA1, HMAC_SHA256 = "1.2.840.113549.1.5.12", "1.2.840.113549.2.7", "1.2.840.113549.2.9"
AES_CBC = {"2.16.840.1.101.3.4.1.2": 16, "2.16.840.1.101.3.4.1.22": 24, "2.16.840.1.101.3.4.1.42": 32}
DIGESTS = {
    "md5": "1.2.840.113549.2.5", "sha1": "1.3.14.3.2.26", "sha224": "2.16.840.1.101.3.4.2.4", "sha256": "2.16.840.1.101.3.4.2.1",
    "sha384": "2.16.840.1.101.3.4.2.2", "sha512": "2.16.840.1.101.3.4.2.3", "sha3-224": "2.16.840.1.101.3.4.2.7",
    "sha3-256": "2.16.840.1.101.3.4.2.8", "sha3-384": "2.16.840.1.101.3.4.2.9", "sha3-512": "2.16.840.1.101.3.4.2.10",
}  # fmt: skip
ITERATIONS = 20_000


# ---------------------------------------------------------------- primes


def _is_prime(number):
    if any(number % prime == 0 for prime in SMALL_PRIMES):
        return number in SMALL_PRIMES
    shift = (number - 1 & 1 - number).bit_length() - 1
    odd = number - 1 >> shift
    for _ in range(TRIALS if number.bit_length() < 1000 else 6):
        value = pow(secrets.randbelow(number - 3) + 2, odd, number)
        if value in (1, number - 1):
            continue
        for _ in range(shift - 1):
            value = value * value % number
            if value == number - 1:
                break
        else:
            return False
    return True


def _prime(bits, exponent):
    while True:
        # The two highest bits, so that products have all bits.
        number = secrets.randbits(bits) | 3 << bits - 2 | 1
        if math.gcd(number - 1, exponent) == 1 and _is_prime(number):
            return number


def new_numbers(exponent, bits):
    """(p, q, d, e, n)."""
    while True:
        p, q = _prime(bits - bits // 2, exponent), _prime(bits // 2, exponent)
        if p != q and (p * q).bit_length() == bits:
            p, q = max(p, q), min(p, q)
            return p, q, pow(exponent, -1, math.lcm(p - 1, q - 1)), exponent, p * q


# ---------------------------------------------------------------- DER


def _tagged(tag, content):
    length = len(content)
    if length < 128:
        return bytes([tag, length]) + content
    size = length.to_bytes((length.bit_length() + 7) // 8)
    return bytes([tag, 128 | len(size)]) + size + content


def _sequence(*parts):
    return _tagged(0x30, b"".join(parts))


def _integer(number):
    return _tagged(2, number.to_bytes(number.bit_length() // 8 + 1))


def _identifier(dotted):
    first, second, *rest = map(int, dotted.split("."))
    out = bytearray()
    for number in (40 * first + second, *rest):
        group = [number & 127]
        while number := number >> 7:
            group.append(number & 127 | 128)
        out += bytes(reversed(group))
    return _tagged(6, bytes(out))


_NULL = b"\5\0"


def _read(data):
    """Returns the elements of a sequence of DER values, as (tag, content)."""
    found, position = [], 0
    while position < len(data):
        tag, length = data[position], data[position + 1]
        position += 2
        if length & 128:
            count = length & 127
            length, position = int.from_bytes(data[position : position + count]), position + count
        if position + length > len(data):
            raise ValueError("a value of DER is longer than what it is in")
        found.append((tag, data[position : position + length]))
        position += length
    return found


def _one(data):
    ((tag, content),) = _read(data)
    if tag != 0x30:
        raise ValueError("no sequence")
    return content


def _dotted(content):
    numbers, value = [], 0
    for byte in content:
        value = value << 7 | byte & 127
        if not byte & 128:
            numbers.append(value)
            value = 0
    return ".".join(map(str, (numbers[0] // 40, numbers[0] % 40, *numbers[1:])))


def _numbers(content):
    return [int.from_bytes(part) for tag, part in _read(content) if tag == 2]


# ---------------------------------------------------------------- keys in DER and PEM


def public_der(n, e, pkcs1):
    key = _sequence(_integer(n), _integer(e))
    return key if pkcs1 else _sequence(_sequence(_identifier(RSA), _NULL), _tagged(3, b"\0" + key))


def private_der(p, q, d, e, n, pkcs1):
    numbers = (0, n, e, d, p, q, d % (p - 1), d % (q - 1), pow(q, -1, p))
    key = _sequence(*map(_integer, numbers))
    return key if pkcs1 else _sequence(_integer(0), _sequence(_identifier(RSA), _NULL), _tagged(4, key))


def encrypted_der(key, password):
    import hashlib

    from . import _aes

    salt, vector = os.urandom(16), os.urandom(16)
    secret = hashlib.pbkdf2_hmac("sha256", password, salt, ITERATIONS, 32)
    fill = 16 - len(key) % 16
    content = _aes.cbc(_aes.Aes(secret), vector, True)(key + bytes([fill]) * fill)
    derivation = _sequence(_identifier(PBKDF2), _sequence(_tagged(4, salt), _integer(ITERATIONS), _sequence(_identifier(HMAC_SHA256), _NULL)))
    cipher = _sequence(_identifier("2.16.840.1.101.3.4.1.42"), _tagged(4, vector))
    return _sequence(_sequence(_identifier(PKCS8_ENCRYPTED), _sequence(derivation, cipher)), _tagged(4, content))


def _decrypted(der, password):
    import hashlib

    from . import _aes

    (_, algorithm), (_, content) = _read(_one(der))
    (_, kind), (_, parameters) = _read(algorithm)
    if _dotted(kind) != PKCS8_ENCRYPTED:
        raise ValueError("Unknown key encryption algorithm")
    (_, derivation), (_, cipher) = _read(parameters)
    (_, name), (_, settings) = _read(derivation)
    (_, cipher_name), (_, vector) = _read(cipher)
    size = AES_CBC.get(_dotted(cipher_name))
    if _dotted(name) != PBKDF2 or size is None:
        raise ValueError("Unknown key encryption algorithm")
    (_, salt), (_, iterations), *rest = _read(settings)
    functions = [_dotted(_read(part)[0][1]) for tag, part in rest if tag == 0x30] or [HMAC_SHA1]
    digest = {HMAC_SHA1: "sha1", HMAC_SHA256: "sha256"}[functions[0]]
    secret = hashlib.pbkdf2_hmac(digest, password, salt, int.from_bytes(iterations), size)
    key = _aes.cbc(_aes.Aes(secret), vector, False)(content)
    if not key or not 1 <= key[-1] <= 16 or key[-key[-1] :] != bytes([key[-1]]) * key[-1] or key[:1] != b"\x30":
        raise ValueError("Incorrect password, could not decrypt key")
    return key[: -key[-1]]


def pem(label, der):
    text = base64.b64encode(der).decode()
    lines = "".join(f"{text[at : at + 64]}\n" for at in range(0, len(text), 64))
    return f"-----BEGIN {label}-----\n{lines}-----END {label}-----\n".encode()


def from_pem(data):
    """(label, DER) of the first block."""
    match = re.search(rb"-----BEGIN ([A-Z0-9 ]+)-----\s(.*?)-----END \1-----", bytes(data), re.DOTALL)
    if not match:
        raise ValueError("Unable to load PEM file. See https://cryptography.io/en/latest/faq/#why-can-t-i-import-my-pem-file for more details. MalformedFraming")
    return match[1].decode(), base64.b64decode(match[2])


def read_public(der):
    """Returns (n, e) of a public key in DER."""
    parts = _read(_one(der))
    if len(parts) == 2 and parts[0][0] == 0x30 and parts[1][0] == 3:
        if _dotted(_read(parts[0][1])[0][1]) != RSA:
            return None
        der = parts[1][1][1:]
    n, e = _numbers(_one(der))
    return n, e


def check_private(n, e, d, p, q, dmp1, dmq1, iqmp):
    """Raises ValueError unless the numbers are those of one key. Whether `p` and `q` are primes is not looked at."""
    if not (
        min(p, q) > 2 and p * q == n and 2 < e < n and (d * e - 1) % (p - 1) == 0 == (d * e - 1) % (q - 1)
        and dmp1 == d % (p - 1) and dmq1 == d % (q - 1) and iqmp * q % p == 1
    ):  # fmt: skip
        raise ValueError("Invalid private key")


def read_private(der, password, checked=True):
    """(p, q, d, e, n); None for a key of another kind."""
    parts = _read(_one(der))
    if len(parts) == 2 and parts[0][0] == 0x30:
        if password is None:
            raise TypeError("Password was not given but private key is encrypted")
        der = _decrypted(der, bytes(password))
        parts = _read(_one(der))
    elif password is not None:
        raise TypeError("Password was given but private key is not encrypted.")
    if len(parts) >= 3 and parts[1][0] == 0x30:
        if _dotted(_read(parts[1][1])[0][1]) != RSA:
            return None
        der = parts[2][1]
    elif len(parts) >= 2 and (parts[0][0], parts[1][0]) == (2, 4):
        # Of an elliptic curve: RFC 5915.
        return None
    version, n, e, d, p, q, *rest = _numbers(_one(der))
    if version != 0:
        raise ValueError("Invalid key")
    if checked:
        dmp1, dmq1, iqmp = rest
        check_private(n, e, d, p, q, dmp1, dmq1, iqmp)
    return p, q, d, e, n


# ---------------------------------------------------------------- paddings


def mask(seed, length, digest):
    made = b""
    for counter in range(-(-length // len(digest(b"")))):
        made += digest(seed + counter.to_bytes(4))
    return made[:length]


def _xor(a, b):
    return bytes(x ^ y for x, y in zip(a, b))


def digest_info(name, hashed):
    return _sequence(_sequence(_identifier(DIGESTS[name]), _NULL), _tagged(4, hashed))


def pad_signature(content, size):
    if len(content) + 11 > size:
        raise ValueError("Digest too large for key size. Use a larger key or different digest.")
    return b"\0\1" + b"\xff" * (size - len(content) - 3) + b"\0" + content


def pad_message(message, size):
    if len(message) + 11 > size:
        raise ValueError("Encryption failed")
    fill = bytes(secrets.randbelow(255) + 1 for _ in range(size - len(message) - 3))
    return b"\0\2" + fill + b"\0" + message


def unpad_message(block):
    end = block.find(b"\0", 2)
    if block[:2] != b"\0\2" or end < 10:
        raise ValueError("Decryption failed")
    return block[end + 1 :]


def pad_oaep(message, size, label, digest, mask_digest):
    length = len(digest(b""))
    if len(message) > size - 2 * length - 2:
        raise ValueError("Encryption failed")
    data = digest(label) + bytes(size - len(message) - 2 * length - 2) + b"\1" + message
    seed = os.urandom(length)
    masked = _xor(data, mask(seed, len(data), mask_digest))
    return b"\0" + _xor(seed, mask(masked, length, mask_digest)) + masked


def unpad_oaep(block, label, digest, mask_digest):
    length = len(digest(b""))
    masked = block[1 + length :]
    seed = _xor(block[1 : 1 + length], mask(masked, length, mask_digest))
    data = _xor(masked, mask(seed, len(masked), mask_digest))
    rest = data[length:].lstrip(b"\0")
    if block[0] or data[:length] != digest(label) or rest[:1] != b"\1":
        raise ValueError("Decryption failed")
    return rest[1:]


def pad_pss(hashed, bits, salt_length, digest, mask_digest):
    size, salt = (bits + 7) // 8, os.urandom(salt_length)
    room = size - len(hashed) - 2 - salt_length
    if room < 0:
        raise ValueError("Digest or salt length too large for key size. Use a larger key or shorter salt length if you are specifying a PSS salt")
    check = digest(bytes(8) + hashed + salt)
    data = bytes(room) + b"\1" + salt
    masked = bytearray(_xor(data, mask(check, len(data), mask_digest)))
    masked[0] &= 255 >> 8 * size - bits
    return bytes(masked) + check + b"\xbc"


def is_pss(block, hashed, bits, salt_length, digest, mask_digest):
    size, length = (bits + 7) // 8, len(hashed)
    above, block = block[:-size], block[-size:]
    if any(above) or size < length + 2 or block[-1:] != b"\xbc" or block[0] >> 8 - (8 * size - bits) and 8 * size > bits:
        return False
    masked, check = block[: size - length - 1], block[size - length - 1 : -1]
    data = bytearray(_xor(masked, mask(check, len(masked), mask_digest)))
    data[0] &= 255 >> 8 * size - bits
    salt = bytes(data).lstrip(b"\0")
    if salt[:1] != b"\1" or salt_length is not None and len(salt) - 1 != salt_length:
        return False
    return hmac.compare_digest(digest(bytes(8) + hashed + salt[1:]), check)
