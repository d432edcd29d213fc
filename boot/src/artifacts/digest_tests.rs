use super::*;

/// Of `abc`, as the standards give them.
const SHA256_OF_ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
const SHA512_OF_ABC: &str = "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a\
                             2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f";
const MD5_OF_ABC: &str = "900150983cd24fb0d6963f7d28e17f72";

#[test]
fn a_content_is_compared_by_what_was_given_for_it() {
    for (name, hex) in [("sha256", SHA256_OF_ABC), ("sha512", SHA512_OF_ABC), ("md5", MD5_OF_ABC)] {
        for hex in [hex.to_owned(), hex.to_uppercase()] {
            let digest = Digest::of_fragment(&format!("{name}={hex}")).unwrap();
            assert!(digest.fits(b"abc"), "{digest}");
            assert!(!digest.fits(b"abd"), "{digest}");
            let mut hasher = digest.hasher();
            for piece in ["a", "", "bc"] {
                hasher.update(piece.as_bytes());
            }
            assert_eq!(hasher.finish(), digest);
            assert_eq!(digest.to_string(), format!("{name}:{}", hex.to_lowercase()));
        }
    }
    assert_eq!(Digest::sha256(b"abc").hex(), SHA256_OF_ABC);
}

#[test]
fn what_is_no_digest_is_told_apart() {
    let digits = |algorithm, digits, given| DigestError::Digits { algorithm, digits, given };
    let letters = "g".repeat(64);
    for (text, expected) in [
        ("", DigestError::Form),
        ("sha256", DigestError::Form),
        ("sha1:da39a3ee5e6b4b0d3255bfef95601890afd80709", DigestError::Form),
        ("SHA256:00", DigestError::Form),
        ("sha256:", digits("sha256", 64, 0)),
        ("sha256:00", digits("sha256", 64, 2)),
        (&format!("sha256:{letters}"), digits("sha256", 64, 64)),
        (&format!("sha512:{SHA256_OF_ABC}"), digits("sha512", 128, 64)),
        (&format!("md5:{MD5_OF_ABC}"), DigestError::Weak),
    ] {
        assert_eq!(Digest::of_content(text), Err(expected), "{text}");
    }
    assert_eq!(Digest::of_fragment(&format!("sha256:{SHA256_OF_ABC}")), Err(DigestError::Form));
}
