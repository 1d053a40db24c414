"""`import ssl` works, and contexts can be made and set up; whoever would speak TLS is refused: there is no network.

Constants are those of OpenSSL 3."""

from _proofbox_unsupported import refusal

OPENSSL_VERSION, OPENSSL_VERSION_NUMBER = "OpenSSL 3.0.19 27 Jan 2026", 0x30000130
OPENSSL_VERSION_INFO = _OPENSSL_API_VERSION = (3, 0, 0, 19, 0)
_DEFAULT_CIPHERS = "@SECLEVEL=2:ECDH+AESGCM:ECDH+CHACHA20:ECDH+AES:DHE+AES:!aNULL:!eNULL:!aDSS:!SHA1:!AESCCM"

PROTOCOL_SSLv23 = PROTOCOL_TLS = 2
PROTOCOL_TLSv1, PROTOCOL_TLSv1_1, PROTOCOL_TLSv1_2, PROTOCOL_TLS_CLIENT, PROTOCOL_TLS_SERVER = 3, 4, 5, 16, 17
PROTO_MINIMUM_SUPPORTED, PROTO_MAXIMUM_SUPPORTED = -2, -1
PROTO_SSLv3, PROTO_TLSv1, PROTO_TLSv1_1, PROTO_TLSv1_2, PROTO_TLSv1_3 = 768, 769, 770, 771, 772
CERT_NONE, CERT_OPTIONAL, CERT_REQUIRED = 0, 1, 2
ENCODING_PEM, ENCODING_DER = 1, 2
HAS_SNI = HAS_ECDH = HAS_ALPN = HAS_TLSv1 = HAS_TLSv1_1 = HAS_TLSv1_2 = HAS_TLSv1_3 = HAS_TLS_UNIQUE = True
HAS_NPN = HAS_SSLv2 = HAS_SSLv3 = HAS_PSK = False

_OPTIONS = dict(
    ALL=2147483728, CIPHER_SERVER_PREFERENCE=4194304, ENABLE_MIDDLEBOX_COMPAT=1048576, IGNORE_UNEXPECTED_EOF=128,
    NO_COMPRESSION=131072, NO_RENEGOTIATION=1073741824, NO_SSLv2=0, NO_SSLv3=33554432, NO_TICKET=16384, NO_TLSv1=67108864,
    NO_TLSv1_1=268435456, NO_TLSv1_2=134217728, NO_TLSv1_3=536870912, SINGLE_DH_USE=0, SINGLE_ECDH_USE=0,
)  # fmt: skip
_VERIFY_FLAGS = dict(
    ALLOW_PROXY_CERTS=64, CRL_CHECK_CHAIN=12, CRL_CHECK_LEAF=4, DEFAULT=0, X509_PARTIAL_CHAIN=524288, X509_STRICT=32,
    X509_TRUSTED_FIRST=32768,
)  # fmt: skip
_HOST_FLAGS = dict(
    ALWAYS_CHECK_SUBJECT=1, MULTI_LABEL_WILDCARDS=8, NEVER_CHECK_SUBJECT=32, NO_PARTIAL_WILDCARDS=4, NO_WILDCARDS=2,
    SINGLE_LABEL_SUBDOMAINS=16,
)  # fmt: skip
_ERRORS = dict(
    EOF=8, INVALID_ERROR_CODE=10, SSL=1, SYSCALL=5, WANT_CONNECT=7, WANT_READ=2, WANT_WRITE=3, WANT_X509_LOOKUP=4,
    ZERO_RETURN=6,
)  # fmt: skip
_ALERTS = dict(
    ACCESS_DENIED=49, BAD_CERTIFICATE=42, BAD_CERTIFICATE_HASH_VALUE=114, BAD_CERTIFICATE_STATUS_RESPONSE=113,
    BAD_RECORD_MAC=20, CERTIFICATE_EXPIRED=45, CERTIFICATE_REVOKED=44, CERTIFICATE_UNKNOWN=46, CERTIFICATE_UNOBTAINABLE=111,
    CLOSE_NOTIFY=0, DECODE_ERROR=50, DECOMPRESSION_FAILURE=30, DECRYPT_ERROR=51, HANDSHAKE_FAILURE=40, ILLEGAL_PARAMETER=47,
    INSUFFICIENT_SECURITY=71, INTERNAL_ERROR=80, NO_RENEGOTIATION=100, PROTOCOL_VERSION=70, RECORD_OVERFLOW=22,
    UNEXPECTED_MESSAGE=10, UNKNOWN_CA=48, UNKNOWN_PSK_IDENTITY=115, UNRECOGNIZED_NAME=112, UNSUPPORTED_CERTIFICATE=43,
    UNSUPPORTED_EXTENSION=110, USER_CANCELLED=90,
)  # fmt: skip
for _prefix, _numbers in (
    ("OP_", _OPTIONS), ("VERIFY_", _VERIFY_FLAGS), ("HOSTFLAG_", _HOST_FLAGS), ("SSL_ERROR_", _ERRORS), ("ALERT_DESCRIPTION_", _ALERTS),
):  # fmt: skip
    globals().update({_prefix + _name: _number for _name, _number in _numbers.items()})


class SSLError(OSError):
    """An error occurred in the SSL implementation."""

    library = reason = None


def _error(name, *bases):
    return type(name, (SSLError, *bases), {"__module__": "ssl"})


SSLError.__module__ = "ssl"
SSLZeroReturnError = _error("SSLZeroReturnError")
SSLWantReadError = _error("SSLWantReadError")
SSLWantWriteError = _error("SSLWantWriteError")
SSLSyscallError = _error("SSLSyscallError")
SSLEOFError = _error("SSLEOFError")
SSLCertVerificationError = _error("SSLCertVerificationError", ValueError)


class SSLSession:
    """A session of TLS: there is never one."""


class MemoryBIO:
    """Bytes on their way between a program and TLS."""

    def __init__(self):
        self._content, self._ended = bytearray(), False

    @property
    def pending(self):
        return len(self._content)

    @property
    def eof(self):
        return self._ended and not self._content

    def read(self, size=-1, /):
        size = len(self._content) if size < 0 else size
        found = bytes(self._content[:size])
        del self._content[:size]
        return found

    def write(self, b, /):
        if self._ended:
            raise SSLError("cannot write() after write_eof()")
        self._content += b
        return len(b)

    def write_eof(self):
        self._ended = True


class _SSLContext:
    """Settings of connections that are never made."""

    def __new__(cls, protocol, /):
        if protocol not in (PROTOCOL_TLS, PROTOCOL_TLS_CLIENT, PROTOCOL_TLS_SERVER, PROTOCOL_TLSv1, PROTOCOL_TLSv1_1, PROTOCOL_TLSv1_2):
            raise ValueError("invalid or unsupported protocol version")
        self = object.__new__(cls)
        is_client = protocol == PROTOCOL_TLS_CLIENT
        self.__dict__["_settings"] = {
            "protocol": protocol, "check_hostname": is_client, "verify_mode": CERT_REQUIRED if is_client else CERT_NONE,
            "options": _OPTIONS["ALL"] | _OPTIONS["NO_SSLv3"] | _OPTIONS["NO_COMPRESSION"] | _OPTIONS["ENABLE_MIDDLEBOX_COMPAT"]
            | _OPTIONS["IGNORE_UNEXPECTED_EOF"] | _OPTIONS["CIPHER_SERVER_PREFERENCE"],
            "verify_flags": _VERIFY_FLAGS["X509_TRUSTED_FIRST"], "minimum_version": PROTO_TLSv1_2, "maximum_version": PROTO_MAXIMUM_SUPPORTED,
            "_host_flags": _HOST_FLAGS["NO_PARTIAL_WILDCARDS"], "sni_callback": None, "_msg_callback": None, "keylog_filename": None,
            "post_handshake_auth": False, "num_tickets": 2,
        }  # fmt: skip
        return self

    def load_cert_chain(self, certfile, keyfile=None, password=None):
        for path in (certfile, keyfile):
            if path is not None:
                open(path, "rb").close()

    def load_verify_locations(self, cafile=None, capath=None, cadata=None):
        if cafile is None and capath is None and cadata is None:
            raise TypeError("cafile, capath and cadata cannot be all omitted")
        if cafile is not None:
            open(cafile, "rb").close()

    def set_ciphers(self, cipherlist, /):
        if not cipherlist:
            raise SSLError("No cipher can be selected.")

    def get_ciphers(self):
        return []

    def get_ca_certs(self, binary_form=False):
        return []

    def cert_store_stats(self):
        return {"x509": 0, "crl": 0, "x509_ca": 0}

    def session_stats(self):
        names = "number connect connect_good connect_renegotiate accept accept_good accept_renegotiate hits misses timeouts cache_full"
        return dict.fromkeys(names.split(), 0)

    def _nothing(self, *_):
        pass

    set_default_verify_paths = load_dh_params = set_ecdh_curve = _set_alpn_protocols = _nothing
    set_psk_client_callback = set_psk_server_callback = _nothing
    security_level = property(lambda self: 2)
    protocol = property(lambda self: self._settings["protocol"])

    def _wrap_socket(self, sock, server_side, server_hostname=None, **_):
        raise refusal("network", "tls", server_hostname or "")

    def _wrap_bio(self, incoming, outgoing, server_side, server_hostname=None, **_):
        raise refusal("network", "tls", server_hostname or "")


def _setting(name):
    def write(self, value):
        self._settings[name] = value

    return property(lambda self: self._settings[name], write)


for _name in (
    "options", "verify_flags", "minimum_version", "maximum_version", "_host_flags", "sni_callback", "_msg_callback",
    "keylog_filename", "post_handshake_auth", "num_tickets",
):  # fmt: skip
    setattr(_SSLContext, _name, _setting(_name))


def _set_verify_mode(self, mode):
    if mode not in (CERT_NONE, CERT_OPTIONAL, CERT_REQUIRED):
        raise ValueError("invalid value for verify_mode")
    if mode == CERT_NONE and self._settings["check_hostname"]:
        raise ValueError("Cannot set verify_mode to CERT_NONE when check_hostname is enabled.")
    self._settings["verify_mode"] = int(mode)


def _set_check_hostname(self, value):
    if value and self._settings["verify_mode"] == CERT_NONE:
        self._settings["verify_mode"] = CERT_REQUIRED
    self._settings["check_hostname"] = bool(value)


_SSLContext.verify_mode = property(lambda self: self._settings["verify_mode"], _set_verify_mode)
_SSLContext.check_hostname = property(lambda self: self._settings["check_hostname"], _set_check_hostname)

_OBJECTS = (
    (129, "serverAuth", "TLS Web Server Authentication", "1.3.6.1.5.5.7.3.1"),
    (130, "clientAuth", "TLS Web Client Authentication", "1.3.6.1.5.5.7.3.2"),
)


def txt2obj(txt, name=False):
    for found in _OBJECTS:
        if txt == found[3] or name and txt in found[1:3]:
            return found
    raise ValueError(f"unknown object {txt[:100]!r}")


def nid2obj(nid, /):
    for found in _OBJECTS:
        if nid == found[0]:
            return found
    raise ValueError(f"unknown NID {nid}")


def get_default_verify_paths():
    return ("SSL_CERT_FILE", "/usr/lib/ssl/cert.pem", "SSL_CERT_DIR", "/usr/lib/ssl/certs")


def RAND_bytes(n, /):
    import os

    return os.urandom(n)


def RAND_status():
    return True


def RAND_add(string, entropy, /):
    pass
