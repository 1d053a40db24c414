"""Stands in for the compiled part of `cryptography`, which can't be built for WebAssembly here: the package's own modules call it.

There are AES (ECB, CBC, CTR, OFB, CFB, GCM), digests, HMAC, PBKDF2, HKDF and padding, and so Fernet; and keys of RSA. All else
raises UnsupportedAlgorithm when it is used: keys of elliptic curves, certificates, other ciphers."""

import enum
import hashlib
import hmac as library_hmac
import os
import sys
import types

from cryptography.__about__ import __version__

from . import _aes, _rsa


class _Reasons(enum.Enum):
    BACKEND_MISSING_INTERFACE = 0
    UNSUPPORTED_HASH = 1
    UNSUPPORTED_CIPHER = 2
    UNSUPPORTED_PADDING = 3
    UNSUPPORTED_MGF = 4
    UNSUPPORTED_PUBLIC_KEY_ALGORITHM = 5
    UNSUPPORTED_ELLIPTIC_CURVE = 6
    UNSUPPORTED_SERIALIZATION = 7
    UNSUPPORTED_X509 = 8
    UNSUPPORTED_EXCHANGE_ALGORITHM = 9
    UNSUPPORTED_DIFFIE_HELLMAN = 10
    UNSUPPORTED_MAC = 11


def _unsupported(what, reason=_Reasons.BACKEND_MISSING_INTERFACE):
    from cryptography.exceptions import UnsupportedAlgorithm

    return UnsupportedAlgorithm(f"{what} is not in this sandbox, whose cryptography has no native code", reason)


def _finalized():
    from cryptography.exceptions import AlreadyFinalized

    return AlreadyFinalized("Context was already finalized.")


def _buffer(data):
    """Bytes of an object that has some. Of a number, `bytes` would make zeros."""
    return bytes(memoryview(data))


class _Absent(type):
    """Type of the classes that are not here: what is called of them raises, too."""

    def __getattr__(cls, name):
        if name[:1] == "_":
            raise AttributeError(name)

        def absent(*args, **kwargs):
            raise _unsupported(f"{cls.__module__.rpartition('.')[2]}.{cls.__name__}.{name}")

        return absent


class _Part(types.ModuleType):
    """A module of the compiled part: what it has not raises when it is called."""

    def __init__(self, name, **content):
        super().__init__(f"{__name__}.{name}")
        vars(self).update(content)
        sys.modules[self.__name__] = self

    def __getattr__(self, name):
        if name[:2] == "__":
            raise AttributeError(name)
        what = f"{self.__name__.rpartition('.')[2]}.{name}"

        def absent(cls, *args, **kwargs):
            raise _unsupported(what)

        made = _Absent(name, (), {"__new__": absent, "__module__": self.__name__})
        setattr(self, name, made)
        return made


exceptions = _Part("exceptions", _Reasons=_Reasons)


# ---------------------------------------------------------------- names


class Encoding(enum.Enum):
    PEM, DER, OpenSSH, Raw, X962, SMIME = "PEM", "DER", "OpenSSH", "Raw", "ANSI X9.62", "S/MIME"


class PrivateFormat(enum.Enum):
    PKCS8, TraditionalOpenSSL, Raw, OpenSSH, PKCS12 = "PKCS8", "TraditionalOpenSSL", "Raw", "OpenSSH", "PKCS12"


class PublicFormat(enum.Enum):
    SubjectPublicKeyInfo, PKCS1, OpenSSH, Raw, CompressedPoint, UncompressedPoint = (
        "X.509 subjectPublicKeyInfo with PKCS#1", "Raw PKCS#1", "OpenSSH", "Raw", "X9.62 Compressed Point", "X9.62 Uncompressed Point",
    )  # fmt: skip


class ParameterFormat(enum.Enum):
    PKCS3 = "PKCS3"


class ObjectIdentifier:
    def __init__(self, value):
        if not isinstance(value, str) or not all(part.isdecimal() for part in value.split(".")):
            raise ValueError(f"Malformed OID: {value}")
        self.dotted_string = value

    @property
    def _name(self):
        from cryptography.hazmat._oid import _OID_NAMES

        return _OID_NAMES.get(self, "Unknown OID")

    def __eq__(self, other):
        return self.dotted_string == other.dotted_string if isinstance(other, ObjectIdentifier) else NotImplemented

    def __hash__(self):
        return hash(self.dotted_string)

    def __repr__(self):
        return f"<ObjectIdentifier(oid={self.dotted_string}, name={self._name})>"


# ---------------------------------------------------------------- padding


class _Padding:
    def __init__(self, block_size):
        self._size, self._data = block_size // 8, b""

    def _take(self, data):
        if self._data is None:
            raise _finalized()
        self._data += _buffer(data)

    def _give(self, count):
        given, self._data = self._data[:count], self._data[count:]
        return given

    def _end(self):
        if self._data is None:
            raise _finalized()
        data, self._data = self._data, None
        return data


class PKCS7PaddingContext(_Padding):
    def update(self, data):
        self._take(data)
        return self._give(len(self._data) - len(self._data) % self._size)

    def finalize(self):
        data = self._end()
        return data + self._fill(self._size - len(data) % self._size)

    def _fill(self, count):
        return bytes([count]) * count


class ANSIX923PaddingContext(PKCS7PaddingContext):
    def _fill(self, count):
        return bytes(count - 1) + bytes([count])


class PKCS7UnpaddingContext(_Padding):
    def update(self, data):
        self._take(data)
        return self._give(max(0, (len(self._data) - 1) // self._size * self._size))

    def finalize(self):
        data = self._end()
        count = data[-1] if len(data) == self._size else 0
        if not 1 <= count <= self._size or not self._fits(data[-count:], count):
            raise ValueError("Invalid padding bytes.")
        return data[:-count]

    def _fits(self, padding, count):
        return padding == bytes([count]) * count


class ANSIX923UnpaddingContext(PKCS7UnpaddingContext):
    def _fits(self, padding, count):
        return not any(padding[:-1])


# ---------------------------------------------------------------- digests


def _digest_name(algorithm):
    name = algorithm.name
    name = name.replace("-", "_") if name.startswith("sha3") else name.replace("-", "")
    if name in ("shake128", "shake256"):
        name = name.replace("shake", "shake_")
    return name


def _hash_supported(algorithm):
    return hasattr(hashlib, _digest_name(algorithm))


def _new_digest(algorithm):
    from cryptography.hazmat.primitives.hashes import HashAlgorithm

    if not isinstance(algorithm, HashAlgorithm):
        raise TypeError("Expected instance of hashes.HashAlgorithm.")
    if not _hash_supported(algorithm):
        raise _unsupported(algorithm.name, _Reasons.UNSUPPORTED_HASH)
    sized = {"digest_size": algorithm.digest_size} if algorithm.name in ("blake2b", "blake2s") else {}
    return getattr(hashlib, _digest_name(algorithm))(**sized)


class Hash:
    def __init__(self, algorithm, backend=None):
        self._state, self.algorithm = _new_digest(algorithm), algorithm

    def _need(self):
        if self._state is None:
            raise _finalized()
        return self._state

    def update(self, data):
        self._need().update(data)

    def finalize(self):
        state, self._state = self._need(), None
        return state.digest(self.algorithm.digest_size) if "shake" in state.name else state.digest()

    def copy(self):
        made = object.__new__(type(self))
        made._state, made.algorithm = self._need().copy(), self.algorithm
        return made

    @staticmethod
    def hash(algorithm, data):
        state = Hash(algorithm)
        state.update(data)
        return state.finalize()


class HMAC(Hash):
    def __init__(self, key, algorithm, backend=None):
        from cryptography.hazmat.primitives.hashes import ExtendableOutputFunction

        if isinstance(algorithm, ExtendableOutputFunction):
            raise _unsupported(f"HMAC of {algorithm.name}", _Reasons.UNSUPPORTED_HASH)

        def digest(data=b""):
            state = _new_digest(algorithm)
            state.update(data)
            return state

        self._state, self.algorithm = library_hmac.new(_buffer(key), digestmod=digest), algorithm

    def finalize(self):
        state, self._state = self._need(), None
        return state.digest()

    def verify(self, signature):
        if not isinstance(signature, bytes):
            raise TypeError(f"argument 'signature': '{type(signature).__name__}' object cannot be cast as 'bytes'")
        if not library_hmac.compare_digest(self.finalize(), signature):
            from cryptography.exceptions import InvalidSignature

            raise InvalidSignature("Signature did not match digest.")


# ---------------------------------------------------------------- derived keys


class _Derivation:
    def _once(self):
        if getattr(self, "_used", False):
            from cryptography.exceptions import AlreadyFinalized

            raise AlreadyFinalized(f"{type(self).__name__} instances can only be used once.")
        self._used = True

    def derive_into(self, key_material, buffer):
        view = memoryview(buffer).cast("B")
        if len(view) != self._length:
            raise ValueError(f"buffer must be {self._length} bytes")
        view[:] = self.derive(key_material)
        return self._length

    def verify(self, key_material, expected_key):
        if not library_hmac.compare_digest(self.derive(key_material), expected_key):
            from cryptography.exceptions import InvalidKey

            raise InvalidKey("Keys do not match.")


class PBKDF2HMAC(_Derivation):
    def __init__(self, algorithm, length, salt, iterations, backend=None):
        _new_digest(algorithm)
        self._algorithm, self._length, self._salt, self._iterations = algorithm, length, _buffer(salt), iterations

    def derive(self, key_material):
        self._once()
        return hashlib.pbkdf2_hmac(_digest_name(self._algorithm), _buffer(key_material), self._salt, self._iterations, self._length)


class HKDFExpand(_Derivation):
    def __init__(self, algorithm, length, info, backend=None):
        _new_digest(algorithm)
        if length < 0:
            raise OverflowError("can't convert negative int to unsigned")
        if length > 255 * algorithm.digest_size:
            raise ValueError(f"Cannot derive keys larger than {255 * algorithm.digest_size} octets.")
        self._algorithm, self._length, self._info = algorithm, length, b"" if info is None else _buffer(info)

    def derive(self, key_material):
        self._once()
        made, last, number = b"", b"", 1
        while len(made) < self._length:
            state = HMAC(key_material, self._algorithm)
            state.update(last + self._info + bytes([number]))
            last = state.finalize()
            made += last
            number += 1
        return made[: self._length]


class HKDF(HKDFExpand):
    def __init__(self, algorithm, length, salt, info, backend=None):
        super().__init__(algorithm, length, info)
        self._salt = salt

    @staticmethod
    def extract(algorithm, salt, key_material):
        state = HMAC(bytes(algorithm.digest_size) if salt is None else salt, algorithm)
        state.update(key_material)
        return state.finalize()

    def derive(self, key_material):
        return super().derive(self.extract(self._algorithm, self._salt, key_material))


# ---------------------------------------------------------------- ciphers


def _is_aes(algorithm):
    from cryptography.hazmat.primitives.ciphers import algorithms

    return isinstance(algorithm, (algorithms.AES, algorithms.AES128, algorithms.AES256))


def _modes():
    from cryptography.hazmat.decrepit.ciphers import modes as decrepit
    from cryptography.hazmat.primitives.ciphers import modes

    # By their old names they would warn.
    return modes, (modes.ECB, modes.CBC, modes.CTR, modes.GCM, decrepit.OFB, decrepit.CFB, decrepit.CFB8)


def _cipher_supported(algorithm, mode):
    return _is_aes(algorithm) and isinstance(mode, _modes()[1])


def _transformation(algorithm, mode, encrypting):
    """A function from data to as much data, and whether it takes whole blocks only."""
    modes, _ = _modes()
    cipher = _aes.Aes(bytes(algorithm.key))
    if isinstance(mode, modes.ECB):
        return _aes.ecb(cipher, encrypting), True
    if isinstance(mode, modes.CBC):
        return _aes.cbc(cipher, mode.initialization_vector, encrypting), True
    if isinstance(mode, modes.CTR):
        return _aes.stream(_aes.counter_blocks(cipher, mode.nonce)), False
    if type(mode).__name__ == "OFB":
        return _aes.stream(_aes.output_blocks(cipher, mode.initialization_vector)), False
    width = 1 if type(mode).__name__ == "CFB8" else _aes.BLOCK
    return _aes.cfb(cipher, mode.initialization_vector, encrypting, width), False


class CipherContext:
    def __init__(self, algorithm, mode, encrypting):
        self._work, self._whole = _transformation(algorithm, mode, encrypting)
        self._rest, self._ended = b"", False

    def update(self, data):
        if self._ended:
            raise _finalized()
        data = _buffer(data)
        if self._whole:
            data = self._rest + data
            count = len(data) - len(data) % _aes.BLOCK
            data, self._rest = data[:count], data[count:]
        return self._work(data)

    def update_into(self, data, buf):
        view = memoryview(buf).cast("B")
        if len(view) < len(data):
            raise ValueError(f"buffer must be at least {len(data)} bytes for this payload")
        made = self.update(data)
        view[: len(made)] = made
        return len(made)

    def finalize(self):
        if self._ended:
            raise _finalized()
        self._ended = True
        if self._rest:
            raise ValueError("The length of the provided data is not a multiple of the block length.")
        return b""

    def reset_nonce(self, nonce):
        raise _unsupported("reset_nonce", _Reasons.UNSUPPORTED_CIPHER)


class _Authenticated(CipherContext):
    encrypting = True

    def __init__(self, algorithm, mode):
        self._message = _aes.Gcm(_aes.Aes(bytes(algorithm.key)), mode.initialization_vector)
        self._mode, self._ended, self._updated, self._tag = mode, False, False, None

    def authenticate_additional_data(self, data):
        if self._ended:
            raise _finalized()
        if self._updated:
            from cryptography.exceptions import AlreadyUpdated

            raise AlreadyUpdated("Update has been called on this context.")
        self._message.authenticate(_buffer(data))

    def update(self, data):
        if self._ended:
            raise _finalized()
        self._updated = True
        return self._message.update(_buffer(data), self.encrypting)

    def _finish(self):
        if self._ended:
            raise _finalized()
        self._ended = True
        self._tag = self._message.tag()


class AEADEncryptionContext(_Authenticated):
    def finalize(self):
        self._finish()
        return b""

    @property
    def tag(self):
        if not self._ended:
            from cryptography.exceptions import NotYetFinalized

            raise NotYetFinalized("You must finalize encryption before getting the tag.")
        return self._tag


class AEADDecryptionContext(_Authenticated):
    encrypting = False

    def finalize(self):
        if self._mode.tag is None:
            raise ValueError("Authentication tag must be provided when decrypting.")
        return self._check(self._mode.tag)

    def finalize_with_tag(self, tag):
        if self._mode.tag is not None:
            raise ValueError("tag provided both in mode and in call with finalize_with_tag: tag should only be provided once")
        if len(tag) < self._mode._min_tag_length:
            raise ValueError(f"Authentication tag must be {self._mode._min_tag_length} bytes or longer.")
        if len(tag) > _aes.BLOCK:
            raise ValueError(f"Authentication tag cannot be more than {_aes.BLOCK} bytes.")
        return self._check(tag)

    def _check(self, tag):
        self._finish()
        if not library_hmac.compare_digest(self._tag[: len(tag)], bytes(tag)):
            from cryptography.exceptions import InvalidTag

            raise InvalidTag
        return b""


def _create(algorithm, mode, authenticated, encrypting):
    if not _cipher_supported(algorithm, mode):
        name = f"cipher {algorithm.name} in {mode.name} mode" if mode else f"cipher {algorithm.name}"
        raise _unsupported(name, _Reasons.UNSUPPORTED_CIPHER)
    if isinstance(mode, _modes()[0].GCM):
        return authenticated(algorithm, mode)
    return CipherContext(algorithm, mode, encrypting)


class AESGCM:
    def __init__(self, key):
        key = _buffer(key)
        if len(key) not in (16, 24, 32):
            raise ValueError("AESGCM key must be 128, 192, or 256 bits.")
        self._cipher = _aes.Aes(key)

    @staticmethod
    def generate_key(bit_length):
        if bit_length not in (128, 192, 256):
            raise ValueError("bit_length must be 128, 192, or 256")
        return os.urandom(bit_length // 8)

    def _message(self, nonce, associated_data):
        if not 8 <= len(nonce) <= 128:
            raise ValueError("Nonce must be between 8 and 128 bytes")
        message = _aes.Gcm(self._cipher, nonce)
        message.authenticate(b"" if associated_data is None else _buffer(associated_data))
        return message

    def encrypt(self, nonce, data, associated_data):
        message = self._message(nonce, associated_data)
        return message.update(_buffer(data), True) + message.tag()

    def decrypt(self, nonce, data, associated_data):
        from cryptography.exceptions import InvalidTag

        data = _buffer(data)
        if len(data) < 16:
            raise InvalidTag
        message = self._message(nonce, associated_data)
        made = message.update(data[:-16], False)
        if not library_hmac.compare_digest(message.tag(), data[-16:]):
            raise InvalidTag
        return made


# ---------------------------------------------------------------- keys of RSA


class RSAPublicNumbers:
    def __init__(self, e, n):
        self.e, self.n = e, n

    def public_key(self, backend=None):
        if self.n.bit_length() < 1024 or not 3 <= self.e < self.n or not self.e & 1:
            raise ValueError("n must be at least 1024-bits, and e odd, at least 3 and below n.")
        return RSAPublicKey(self.n, self.e)

    def __eq__(self, other):
        return (self.e, self.n) == (other.e, other.n) if isinstance(other, RSAPublicNumbers) else NotImplemented

    def __hash__(self):
        return hash((self.e, self.n))

    def __repr__(self):
        return f"<RSAPublicNumbers(e={self.e}, n={self.n})>"


class RSAPrivateNumbers:
    def __init__(self, p, q, d, dmp1, dmq1, iqmp, public_numbers):
        self.p, self.q, self.d, self.dmp1, self.dmq1, self.iqmp, self.public_numbers = p, q, d, dmp1, dmq1, iqmp, public_numbers

    def private_key(self, backend=None, *, unsafe_skip_rsa_key_validation=False):
        if self.p * self.q != self.public_numbers.n:
            raise ValueError("p*q must equal modulus.")
        if not unsafe_skip_rsa_key_validation:
            e, n = self.public_numbers.e, self.public_numbers.n
            _rsa.check_private(n, e, self.d, self.p, self.q, self.dmp1, self.dmq1, self.iqmp)
        return RSAPrivateKey(self.p, self.q, self.d, self.public_numbers.e, self.public_numbers.n)

    def __eq__(self, other):
        return vars(self) == vars(other) if isinstance(other, RSAPrivateNumbers) else NotImplemented

    def __hash__(self):
        return hash((self.p, self.q, self.d))


def _digest_of(algorithm):
    return lambda data: Hash.hash(algorithm, data)


def _hashed(data, algorithm):
    """(digest of the data, its algorithm), where the data may be the digest."""
    from cryptography.hazmat.primitives.asymmetric.utils import Prehashed

    if isinstance(algorithm, Prehashed):
        algorithm = algorithm._algorithm
        if len(data) != algorithm.digest_size:
            raise ValueError("The provided data must be the same length as the hash algorithm's digest size.")
        return bytes(data), algorithm
    return Hash.hash(algorithm, data), algorithm


def _salt_length(padding, algorithm, size):
    """Returns the length of a signature's salt in bytes, None for any length."""
    from cryptography.hazmat.primitives.asymmetric import padding as paddings

    if padding._salt_length is paddings.PSS.MAX_LENGTH:
        return size - algorithm.digest_size - 2
    if padding._salt_length is paddings.PSS.DIGEST_LENGTH:
        return algorithm.digest_size
    return None if padding._salt_length is paddings.PSS.AUTO else padding._salt_length


def _bad_padding(padding):
    from cryptography.hazmat.primitives._asymmetric import AsymmetricPadding

    if not isinstance(padding, AsymmetricPadding):
        raise TypeError("Padding must be an instance of AsymmetricPadding.")
    return _unsupported(f"{padding.name} padding", _Reasons.UNSUPPORTED_PADDING)


class RSAPublicKey:
    def __init__(self, n, e):
        self._n, self._e, self.key_size = n, e, n.bit_length()
        self._size = (self.key_size + 7) // 8

    def public_numbers(self):
        return RSAPublicNumbers(self._e, self._n)

    def __eq__(self, other):
        return (self._n, self._e) == (other._n, other._e) if isinstance(other, RSAPublicKey) else NotImplemented

    def __hash__(self):
        return hash((self._n, self._e))

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def _raised(self, block):
        return pow(int.from_bytes(block), self._e, self._n).to_bytes(self._size)

    def encrypt(self, plaintext, padding):
        from cryptography.hazmat.primitives.asymmetric import padding as paddings

        plaintext = _buffer(plaintext)
        if isinstance(padding, paddings.PKCS1v15):
            return self._raised(_rsa.pad_message(plaintext, self._size))
        if isinstance(padding, paddings.OAEP):
            digests = _digest_of(padding.algorithm), _digest_of(padding.mgf._algorithm)
            return self._raised(_rsa.pad_oaep(plaintext, self._size, padding._label or b"", *digests))
        raise _bad_padding(padding)

    def verify(self, signature, data, padding, algorithm):
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric import padding as paddings

        hashed, algorithm = _hashed(data, algorithm)
        number = int.from_bytes(signature)
        block = self._raised(signature) if len(signature) == self._size and number < self._n else bytes(self._size)
        if isinstance(padding, paddings.PKCS1v15):
            good = library_hmac.compare_digest(block, _rsa.pad_signature(_rsa.digest_info(algorithm.name, hashed), self._size))
        elif isinstance(padding, paddings.PSS):
            # The longest salt is asked for when signing: the real one takes any.
            any_length = padding._salt_length is paddings.PSS.MAX_LENGTH
            length = None if any_length else _salt_length(padding, algorithm, (self.key_size + 6) // 8)
            good = _rsa.is_pss(block, hashed, self.key_size - 1, length, _digest_of(algorithm), _digest_of(padding.mgf._algorithm))
        else:
            raise _bad_padding(padding)
        if not good:
            raise InvalidSignature

    def recover_data_from_signature(self, signature, padding, algorithm):
        raise _unsupported("recover_data_from_signature")

    def public_bytes(self, encoding, format):
        if format not in (PublicFormat.SubjectPublicKeyInfo, PublicFormat.PKCS1) or encoding not in (Encoding.PEM, Encoding.DER):
            raise _unsupported(f"the format {format.value} in the encoding {encoding.value}", _Reasons.UNSUPPORTED_SERIALIZATION)
        pkcs1 = format is PublicFormat.PKCS1
        der = _rsa.public_der(self._n, self._e, pkcs1)
        return der if encoding is Encoding.DER else _rsa.pem("RSA PUBLIC KEY" if pkcs1 else "PUBLIC KEY", der)


class RSAPrivateKey:
    def __init__(self, p, q, d, e, n):
        self._numbers, self._public, self.key_size = (p, q, d, e, n), RSAPublicKey(n, e), n.bit_length()

    def public_key(self):
        return self._public

    def private_numbers(self):
        p, q, d, e, n = self._numbers
        return RSAPrivateNumbers(p, q, d, d % (p - 1), d % (q - 1), pow(q, -1, p), RSAPublicNumbers(e, n))

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def _raised(self, block):
        p, q, d, _, _ = self._numbers
        number = int.from_bytes(block)
        first, second = pow(number, d % (p - 1), p), pow(number, d % (q - 1), q)
        return (second + (first - second) * pow(q, -1, p) % p * q).to_bytes(self._public._size)

    def sign(self, data, padding, algorithm):
        from cryptography.hazmat.primitives.asymmetric import padding as paddings

        hashed, algorithm = _hashed(data, algorithm)
        if isinstance(padding, paddings.PKCS1v15):
            return self._raised(_rsa.pad_signature(_rsa.digest_info(algorithm.name, hashed), self._public._size))
        if isinstance(padding, paddings.PSS):
            length = _salt_length(padding, algorithm, (self.key_size + 6) // 8)
            if length is None:
                raise ValueError("PSS salt length can only be set to Auto when verifying")
            digests = _digest_of(algorithm), _digest_of(padding.mgf._algorithm)
            return self._raised(_rsa.pad_pss(hashed, self.key_size - 1, length, *digests))
        raise _bad_padding(padding)

    def decrypt(self, ciphertext, padding):
        from cryptography.hazmat.primitives.asymmetric import padding as paddings

        if len(ciphertext) != self._public._size:
            raise ValueError("Ciphertext length must be equal to key size.")
        if isinstance(padding, paddings.PKCS1v15):
            return _rsa.unpad_message(self._raised(ciphertext))
        if isinstance(padding, paddings.OAEP):
            digests = _digest_of(padding.algorithm), _digest_of(padding.mgf._algorithm)
            return _rsa.unpad_oaep(self._raised(ciphertext), padding._label or b"", *digests)
        raise _bad_padding(padding)

    def private_bytes(self, encoding, format, encryption_algorithm):
        from cryptography.hazmat.primitives import _serialization

        pkcs1 = format is PrivateFormat.TraditionalOpenSSL
        password = getattr(encryption_algorithm, "password", None)
        if not isinstance(encryption_algorithm, _serialization.KeySerializationEncryption):
            raise TypeError("Encryption algorithm must be a KeySerializationEncryption instance")
        plain = isinstance(encryption_algorithm, _serialization.NoEncryption)
        known = format in (PrivateFormat.PKCS8, PrivateFormat.TraditionalOpenSSL) and encoding in (Encoding.PEM, Encoding.DER)
        if not known or pkcs1 and not plain:
            raise _unsupported(f"the format {format.value} in the encoding {encoding.value}", _Reasons.UNSUPPORTED_SERIALIZATION)
        der = _rsa.private_der(*self._numbers, pkcs1)
        label = "RSA PRIVATE KEY" if pkcs1 else "PRIVATE KEY"
        if not plain:
            der, label = _rsa.encrypted_der(der, password), "ENCRYPTED PRIVATE KEY"
        return der if encoding is Encoding.DER else _rsa.pem(label, der)


def _generate_rsa(public_exponent, key_size):
    return RSAPrivateKey(*_rsa.new_numbers(public_exponent, key_size))


def _loaded(read, make):
    """A function that reads a key from DER: of RSA, or of a kind that is not here."""

    def load(data, *args):
        try:
            numbers = read(_buffer(data), *args)
        except TypeError:
            raise
        except (ValueError, IndexError, KeyError) as error:
            if "password" in str(error):
                raise
            raise ValueError(f"Could not deserialize key data. {error}") from None
        if numbers is None:
            raise _unsupported("this kind of key", _Reasons.UNSUPPORTED_SERIALIZATION)
        return make(*numbers)

    return load


_load_private = _loaded(_rsa.read_private, RSAPrivateKey)
_load_public = _loaded(_rsa.read_public, RSAPublicKey)


def load_der_private_key(data, password, backend=None, *, unsafe_skip_rsa_key_validation=False):
    return _load_private(data, password, not unsafe_skip_rsa_key_validation)


def load_pem_private_key(data, password, backend=None, *, unsafe_skip_rsa_key_validation=False):
    if b"Proc-Type: 4,ENCRYPTED" in _buffer(data):
        raise _unsupported("a key that is encrypted in the traditional format", _Reasons.UNSUPPORTED_SERIALIZATION)
    label, der = _rsa.from_pem(data)
    if not label.endswith("PRIVATE KEY"):
        raise ValueError("Valid PEM but no BEGIN/END delimiters for a private key found. Are you sure this is a private key?")
    return _load_private(der, password, not unsafe_skip_rsa_key_validation)


def load_der_public_key(data, backend=None):
    return _load_public(data)


def load_pem_public_key(data, backend=None):
    label, der = _rsa.from_pem(data)
    if not label.endswith("PUBLIC KEY"):
        raise ValueError("Valid PEM but no BEGIN PUBLIC KEY/END PUBLIC KEY delimiters. Are you sure this is a public key?")
    return _load_public(der)


# ---------------------------------------------------------------- the parts

openssl = _Part(
    "openssl",
    __path__=[],
    CRYPTOGRAPHY_IS_LIBRESSL=False, CRYPTOGRAPHY_IS_BORINGSSL=False, CRYPTOGRAPHY_IS_AWSLC=False,
    CRYPTOGRAPHY_OPENSSL_309_OR_GREATER=False, CRYPTOGRAPHY_OPENSSL_320_OR_GREATER=False, CRYPTOGRAPHY_OPENSSL_330_OR_GREATER=False,
    CRYPTOGRAPHY_OPENSSL_350_OR_GREATER=False,
    _legacy_provider_loaded=False, _providers=None,
    openssl_version=lambda: 0,
    openssl_version_text=lambda: "none (proofbox)",
    capture_error_stack=list,
    is_fips_enabled=lambda: False,
)  # fmt: skip
for name, content in {
    "hashes": {"Hash": Hash, "hash_supported": _hash_supported},
    "hmac": {"HMAC": HMAC},
    "kdf": {"PBKDF2HMAC": PBKDF2HMAC, "HKDF": HKDF, "HKDFExpand": HKDFExpand},
    "ciphers": {
        "CipherContext": CipherContext, "AEADEncryptionContext": AEADEncryptionContext, "AEADDecryptionContext": AEADDecryptionContext,
        "cipher_supported": _cipher_supported,
        "create_encryption_ctx": lambda algorithm, mode: _create(algorithm, mode, AEADEncryptionContext, True),
        "create_decryption_ctx": lambda algorithm, mode: _create(algorithm, mode, AEADDecryptionContext, False),
    },
    "aead": {"AESGCM": AESGCM},
    "rsa": {
        "RSAPrivateKey": RSAPrivateKey, "RSAPublicKey": RSAPublicKey, "RSAPrivateNumbers": RSAPrivateNumbers,
        "RSAPublicNumbers": RSAPublicNumbers, "generate_private_key": _generate_rsa,
    },
    "keys": {
        "load_der_private_key": load_der_private_key, "load_pem_private_key": load_pem_private_key,
        "load_der_public_key": load_der_public_key, "load_pem_public_key": load_pem_public_key,
    },
    **dict.fromkeys("cmac dh dsa ec ed25519 ed448 hpke keywrap mldsa mlkem poly1305 x25519 x448".split(), {}),
}.items():  # fmt: skip
    setattr(openssl, name, _Part(f"openssl.{name}", **content))


class _Library:
    """OpenSSL as the package sees it when it is imported: of this version, and with no features."""

    CRYPTOGRAPHY_PACKAGE_VERSION = __version__.encode()

    def OpenSSL_version_num(self):
        return 0

    def __dir__(self):
        return ["CRYPTOGRAPHY_PACKAGE_VERSION"]

    def __getattr__(self, name):
        if name.startswith("Cryptography_HAS_"):
            return False
        raise AttributeError(name)


_openssl = _Part(
    "_openssl",
    ffi=types.SimpleNamespace(string=lambda text: text),
    lib=_Library(),
)
for name in ("asn1", "cobblestone", "declarative_asn1", "ocsp", "pkcs12", "pkcs7", "test_support", "x509"):
    globals()[name] = _Part(name)
del name, content
