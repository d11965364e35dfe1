"""Verify a time-stamp token (RFC 3161). An auditor can read this file alone, and needs only Python, `cryptography` and a certificate.

    python timestamp_token.py bundle.zip --authority authority.pem

The member `timestamp.der` of a bundle is the token: the authority signed the SHA-256 of the checkpoint in `stamped`, and its time.
`verify.py` verifies the rest of the bundle. `authority.pem` has the certificate of the authority, or of one that issued it.

The token has the form of CMS (RFC 5652) in DER. No unsigned part may have another value, so every changed bit is refused:

- The signed attributes name the contents (their SHA-2) and the certificate of the signer (RFC 5816).
- The certificate is only for time stamps (RFC 3161, 2.3), and a chain leads from it to the trusted one. All were valid at the time.
- The token has no other certificate, no unsigned attribute and no list of revocations. Whether the authority revoked its certificate is
  not checked.
"""

from __future__ import annotations

import argparse
import re
import sys
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import new as new_hash
from hashlib import sha256
from pathlib import Path

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509 import (
    BasicConstraints,
    Certificate,
    DuplicateExtension,
    ExtendedKeyUsage,
    ExtensionNotFound,
    InvalidVersion,
    KeyUsage,
    SubjectKeyIdentifier,
    UnsupportedGeneralNameType,
    load_der_x509_certificate,
    load_pem_x509_certificates,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, ExtensionOID

INTEGER, BITS, OCTETS, NULL, OID, TIME, SEQUENCE, SET, OWN = 0x02, 0x03, 0x04, 0x05, 0x06, 0x18, 0x30, 0x31, 0xA0
MOST_BYTES = 1 << 16  # of a token
_MOST_CERTIFICATES = 6
_LEAST_BITS = 2_048
SIGNED_DATA = "2a864886f70d010702"
TST_INFO = "2a864886f70d0109100104"
SHA256 = "608648016503040201"
_HASHES = {SHA256: "sha256", "608648016503040202": "sha384", "608648016503040203": "sha512"}
_RSA = "2a864886f70d010101"
_SIGNATURES: dict[str, tuple[type, str]] = {  # the kind of the key and the hash of each signature
    "2a864886f70d01010b": (RSAPublicKey, "sha256"), "2a864886f70d01010c": (RSAPublicKey, "sha384"),
    "2a864886f70d01010d": (RSAPublicKey, "sha512"), "2a8648ce3d040302": (EllipticCurvePublicKey, "sha256"),
    "2a8648ce3d040303": (EllipticCurvePublicKey, "sha384"), "2a8648ce3d040304": (EllipticCurvePublicKey, "sha512"),
    "2b6570": (Ed25519PublicKey, "sha512"),
}  # fmt: skip
_CONTENT_TYPE, _MESSAGE_DIGEST = "2a864886f70d010903", "2a864886f70d010904"
_SIGNING_CERTIFICATE, _SIGNING_CERTIFICATE_2 = "2a864886f70d010910020c", "2a864886f70d010910022f"
_UNDERSTOOD = {ExtensionOID.BASIC_CONSTRAINTS, ExtensionOID.KEY_USAGE, ExtensionOID.EXTENDED_KEY_USAGE}
_FAULTS = (UnsupportedAlgorithm, InvalidVersion, DuplicateExtension, UnsupportedGeneralNameType, Warning)  # of certificates
_MOMENT = re.compile(rb"(\d{14})(?:\.(\d{0,5}[1-9]))?Z")


class TokenError(Exception):
    """The token does not prove the time. The message has the reason."""


@dataclass(frozen=True, slots=True)
class Node:
    """An element of DER: its tag and its contents."""

    tag: int
    content: bytes

    @property
    def raw(self) -> bytes:
        return encode(self.tag, self.content)

    def parts(self, *tags: int) -> list[Node]:
        """Return the elements inside. With `tags`, they must have these tags."""
        found, at = [], 0
        while at < len(self.content):
            node, at = _read(self.content, at)
            found.append(node)
        if tags and [node.tag for node in found] != [*tags]:
            raise TokenError("The token has another form.")
        return found


@dataclass(frozen=True, slots=True)
class Token:
    """The parts of a token. `attributes` are the signed ones."""

    info: bytes
    certificates: tuple[bytes, ...]
    signer: Node
    digest: Node
    attributes: Node
    algorithm: Node
    signature: bytes

    @property
    def raw(self) -> bytes:
        """Return the one form of a token with these parts."""
        version = 1 if self.signer.tag == SEQUENCE else 3
        contents = encode(SEQUENCE, _oid(TST_INFO) + encode(OWN, encode(OCTETS, self.info)))
        parts = [
            integer(version),
            self.signer.raw,
            self.digest.raw,
            self.attributes.raw,
            self.algorithm.raw,
            encode(OCTETS, self.signature),
        ]
        signed = [integer(3), encode(SET, self.digest.raw), contents, encode(OWN, b"".join(self.certificates)),
                  encode(SET, encode(SEQUENCE, b"".join(parts)))]  # fmt: skip
        return encode(SEQUENCE, _oid(SIGNED_DATA) + encode(OWN, encode(SEQUENCE, b"".join(signed))))


@dataclass(frozen=True, slots=True)
class Stamp:
    """What an authority signed: the time, the number of the request (or None), and the token without needless parts."""

    at: datetime
    nonce: int | None
    token: bytes


def verify_token(token: bytes, data: bytes, authorities: Sequence[Certificate]) -> datetime:
    """Return the time at which an authority stamped `data`. Every bit of the token counts."""
    stamp = read_stamp(token, data, authorities)
    if stamp.token != token:
        raise TokenError("The token has parts that nobody signed, or another form.")
    return stamp.at


def read_stamp(token: bytes, data: bytes, authorities: Sequence[Certificate], *, drops_trusted: bool = False) -> Stamp:
    """Verify a token as an authority sent it, which may have certificates and attributes that the proof does not need.

    With `drops_trusted`, the trusted certificate is not needed either, because whoever verifies the token has it.
    """
    try:
        return _read_stamp(token, data, authorities, drops_trusted=drops_trusted)
    except (*_FAULTS, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise TokenError(f"The token has another form ({type(error).__name__}).") from error


def read_authorities(pem: bytes) -> list[Certificate]:
    """Read the certificates of a PEM file."""
    try:
        return load_pem_x509_certificates(pem)
    except ValueError as error:
        raise TokenError("The file has no certificate in PEM form.") from error


def _read_stamp(raw: bytes, data: bytes, authorities: Sequence[Certificate], *, drops_trusted: bool) -> Stamp:
    if len(raw) > MOST_BYTES:
        raise TokenError(f"The token has {len(raw):,} bytes, and at most {MOST_BYTES:,} are read.")
    token = _parse(raw)
    at, nonce = _check_info(token.info, data)
    pool = [load_der_x509_certificate(each) for each in token.certificates]
    own = [each for each in pool if _is_named(each, token.signer)]
    if len(own) != 1:
        raise TokenError("The certificate of the signer is missing.")
    _check_signature(token, own[0])
    _check_signer(own[0])
    chain = _find_chain([own[0]], pool, authorities, at)
    if chain is None:
        raise TokenError("No valid chain of certificates leads from the signer to the trusted authority.")
    needed = {each.public_bytes(Encoding.DER) for each in (chain[:-1] if drops_trusted and chain[1:] else chain)}
    return Stamp(at, nonce, replace(token, certificates=tuple(each for each in token.certificates if each in needed)).raw)


def _parse(raw: bytes) -> Token:
    outer, end = _read(raw, 0)
    kind, wrapped = outer.parts(OID, OWN)
    if end != len(raw) or outer.tag != SEQUENCE or kind.content.hex() != SIGNED_DATA:
        raise TokenError("The token is no signed data.")
    (signed,) = wrapped.parts(SEQUENCE)
    _, _, contents, *rest = signed.parts()
    what, inner = contents.parts(OID, OWN)
    (info,) = inner.parts(OCTETS)
    if what.content.hex() != TST_INFO or not rest or rest[-1].tag != SET:
        raise TokenError("The token has no time in it.")
    (signer_info,) = rest[-1].parts(SEQUENCE)
    _, signer, digest, attributes, algorithm, signature, *_ = signer_info.parts()
    if [signer.tag in (SEQUENCE, 0x80), digest.tag, attributes.tag, algorithm.tag, signature.tag] != [
        True,
        SEQUENCE,
        OWN,
        SEQUENCE,
        OCTETS,
    ]:
        raise TokenError("The signature of the token has another form.")
    certificates = rest[0].parts() if rest[0].tag == OWN else []
    if any(each.parts(SEQUENCE, SEQUENCE, BITS)[2].content[0] for each in certificates):
        raise TokenError("The signature of a certificate does not end with a whole byte.")  # the count of its unused bits is not signed
    return Token(info.content, tuple(each.raw for each in certificates), signer, digest, attributes, algorithm, signature.content)


def _check_info(raw: bytes, data: bytes) -> tuple[datetime, int | None]:
    """Check that the signed contents are about `data`. Return the time and the number of the request."""
    info, end = _read(raw, 0)
    version, policy, imprint, serial, moment, *more = info.parts()
    if end != len(raw) or [info.tag, version.raw, policy.tag, serial.tag, moment.tag] != [SEQUENCE, integer(1), OID, INTEGER, TIME]:
        raise TokenError("The contents of the token have another form.")
    algorithm, digest = imprint.parts(SEQUENCE, OCTETS)
    if new_hash(_hash_of(algorithm), data).digest() != digest.content:
        raise TokenError("The token is about another checkpoint.")
    for extension in (each for node in more if node.tag == 0xA1 for each in node.parts()):
        if len(extension.parts()) > 2:
            raise TokenError("The token has a critical extension, which is not known.")
    found = _MOMENT.fullmatch(moment.content)
    if found is None:
        raise TokenError("The time of the token has another form.")
    at = datetime.strptime(found[1].decode(), "%Y%m%d%H%M%S").replace(tzinfo=UTC, microsecond=int((found[2] or b"").ljust(6, b"0")))
    return at, next((int.from_bytes(node.content, "big", signed=True) for node in more if node.tag == INTEGER), None)


def _check_signature(token: Token, signer: Certificate) -> None:
    name, values = _hash_of(token.digest), dict[str, Node]()
    for attribute in token.attributes.parts():
        kind, listed = attribute.parts(OID, SET)
        if values.setdefault(kind.content.hex(), listed) is not listed:
            raise TokenError("A signed attribute is there twice.")
    digest = encode(OCTETS, new_hash(name, token.info).digest())
    if values[_CONTENT_TYPE].content != _oid(TST_INFO) or values[_MESSAGE_DIGEST].content != digest:
        raise TokenError("The signed attributes are not about the contents of the token.")
    _check_named_certificate(values, signer.public_bytes(Encoding.DER))
    kind, *parameters = token.algorithm.parts()
    key, hashing = signer.public_key(), {"sha256": hashes.SHA256(), "sha384": hashes.SHA384(), "sha512": hashes.SHA512()}[name]
    of_key, hash_name = (RSAPublicKey, name) if kind.content.hex() == _RSA else _SIGNATURES.get(kind.content.hex(), (Certificate, ""))
    is_plain = [each.raw for each in parameters] in ([], [encode(NULL, b"")])
    if kind.tag != OID or hash_name != name or not isinstance(key, of_key) or not is_plain:
        raise TokenError("The signature is of a kind that is not known.")
    signed = encode(SET, token.attributes.content)
    try:
        if isinstance(key, RSAPublicKey):
            key.verify(token.signature, signed, PKCS1v15(), hashing)
        elif isinstance(key, EllipticCurvePublicKey):
            key.verify(token.signature, signed, ECDSA(hashing))
        elif isinstance(key, Ed25519PublicKey):
            key.verify(token.signature, signed)
    except InvalidSignature:
        raise TokenError("The signature of the token is wrong.") from None


def _check_named_certificate(values: dict[str, Node], certificate: bytes) -> None:
    """Check that the signed attributes name the certificate, so that nobody can put another one with the same key in its place."""
    named = 0
    for kind, default in ((_SIGNING_CERTIFICATE, "sha1"), (_SIGNING_CERTIFICATE_2, "sha256")):
        if kind in values:
            first = values[kind].parts(SEQUENCE)[0].parts()[0].parts()[0].parts()
            name = _hash_of(first.pop(0)) if first[0].tag == SEQUENCE else default
            if first[0].raw != encode(OCTETS, new_hash(name, certificate, usedforsecurity=False).digest()):
                raise TokenError("The token names another certificate.")
            named += 1
    if not named:
        raise TokenError("The token does not name its certificate.")


def _check_signer(signer: Certificate) -> None:
    usage = signer.extensions.get_extension_for_class(ExtendedKeyUsage) if _has(signer, ExtendedKeyUsage) else None
    if usage is None or not usage.critical or [*usage.value] != [ExtendedKeyUsageOID.TIME_STAMPING] or _is_issuer(signer, 0):
        raise TokenError("The certificate of the signer is not only for time stamps.")
    if _has(signer, KeyUsage):
        allowed = signer.extensions.get_extension_for_class(KeyUsage).value
        if not allowed.digital_signature and not allowed.content_commitment:
            raise TokenError("The certificate of the signer is not for signatures.")


def _find_chain(
    chain: list[Certificate], pool: Sequence[Certificate], authorities: Sequence[Certificate], at: datetime
) -> list[Certificate] | None:
    """Return the certificates from the signer to a trusted one, if all were valid at a time."""
    last = chain[-1]
    key, critical = last.public_key(), {each.oid for each in last.extensions if each.critical}
    is_strong = not isinstance(key, RSAPublicKey) or key.key_size >= _LEAST_BITS
    if not last.not_valid_before_utc <= at <= last.not_valid_after_utc or critical - _UNDERSTOOD or not is_strong:
        return None
    if last in authorities:
        return chain
    for issuer in (*authorities, *pool):
        if len(chain) == _MOST_CERTIFICATES or issuer in chain or not _is_issuer(issuer, len(chain) - 1) or not _has_issued(issuer, last):
            continue
        if (found := _find_chain([*chain, issuer], pool, authorities, at)) is not None:
            return found
    return None


def _is_issuer(certificate: Certificate, below: int) -> bool:
    """Whether a certificate may issue others, with `below` certificates of issuers between it and the signer's."""
    if not _has(certificate, BasicConstraints):
        return False
    constraints = certificate.extensions.get_extension_for_class(BasicConstraints).value
    if not constraints.ca or (constraints.path_length is not None and constraints.path_length < below):
        return False
    if _has(certificate, ExtendedKeyUsage):
        allowed = {*certificate.extensions.get_extension_for_class(ExtendedKeyUsage).value}
        if allowed.isdisjoint({ExtendedKeyUsageOID.TIME_STAMPING, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE}):
            return False
    return not _has(certificate, KeyUsage) or certificate.extensions.get_extension_for_class(KeyUsage).value.key_cert_sign


def _has_issued(issuer: Certificate, certificate: Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(issuer)
    except (InvalidSignature, ValueError, TypeError):
        return False
    return True


def _is_named(certificate: Certificate, signer: Node) -> bool:
    """Whether a signature names this certificate, by its issuer and number or by the id of its key."""
    if signer.tag == SEQUENCE:
        return signer.content == certificate.issuer.public_bytes() + integer(certificate.serial_number)
    has_id = _has(certificate, SubjectKeyIdentifier)
    return has_id and certificate.extensions.get_extension_for_class(SubjectKeyIdentifier).value.digest == signer.content


def _has(certificate: Certificate, kind: type[BasicConstraints | ExtendedKeyUsage | KeyUsage | SubjectKeyIdentifier]) -> bool:
    try:
        certificate.extensions.get_extension_for_class(kind)
    except ExtensionNotFound:
        return False
    return True


def _hash_of(algorithm: Node) -> str:
    kind, *parameters = algorithm.parts()
    name = _HASHES.get(kind.content.hex())
    if name is None or kind.tag != OID or [each.raw for each in parameters] not in ([], [encode(NULL, b"")]):
        raise TokenError("A hash of the token is of a kind that is not known.")
    return name


def _read(data: bytes, at: int) -> tuple[Node, int]:
    """Read the element at a position, in the one form that DER permits. Return it and the position after it."""
    tag, length, start = data[at], data[at + 1], at + 2
    if length & 0x80:
        start += length & 0x7F
        length = int.from_bytes(data[at + 2 : start], "big")
    node = Node(tag, data[start : start + length])
    if tag & 0x1F == 0x1F or node.raw != data[at : start + length]:
        raise TokenError("The token is not in DER.")
    return node, start + length


def encode(tag: int, content: bytes) -> bytes:
    """Return an element in DER."""
    length = len(content)
    size = b"" if length < 0x80 else length.to_bytes((length.bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(size) if size else length]) + size + content


def integer(value: int) -> bytes:
    return encode(INTEGER, value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True))


def _oid(kind: str) -> bytes:
    return encode(OID, bytes.fromhex(kind))


def imprint_of(data: bytes) -> bytes:
    """Return the hash of some data, as a request names it."""
    return encode(SEQUENCE, encode(SEQUENCE, _oid(SHA256) + encode(NULL, b"")) + encode(OCTETS, sha256(data).digest()))


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description="Verify the time stamp in an evidence bundle of Headwater.")
    parser.add_argument("bundle", type=Path)
    parser.add_argument("--authority", type=Path, required=True, help="the trusted certificate of the authority, in PEM form")
    options = parser.parse_args(arguments)
    try:
        with zipfile.ZipFile(options.bundle) as archive:
            token, stamped = (archive.open(name).read(MOST_BYTES + 1) for name in ("timestamp.der", "stamped"))
        text = stamped.partition(b"\n\n")[0] + b"\n"
        at = verify_token(token, text, read_authorities(options.authority.read_bytes()))
    except (TokenError, OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
        sys.stderr.write(f"NOT VALID: {error}\n")
        return 1
    sys.stdout.write(f"Valid. The authority stamped this at {at}:\n{text.decode()}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
