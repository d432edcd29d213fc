use super::*;

const DIGEST: &str = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

#[test]
fn names_are_read_as_docker_reads_them() {
    let at = |name: &str| format!("{name}@{DIGEST}");
    for (text, expected, base) in [
        ("foo", "docker.io/library/foo:latest", "https://registry-1.docker.io/"),
        ("foo:1.2", "docker.io/library/foo:1.2", "https://registry-1.docker.io/"),
        ("localhost:5000", "docker.io/library/localhost:5000", "https://registry-1.docker.io/"),
        ("me/foo:A_b-c.d", "docker.io/me/foo:A_b-c.d", "https://registry-1.docker.io/"),
        ("docker.io/foo", "docker.io/library/foo:latest", "https://registry-1.docker.io/"),
        ("index.docker.io/me/foo", "docker.io/me/foo:latest", "https://registry-1.docker.io/"),
        ("oci://ghcr.io/a/b/c:1", "ghcr.io/a/b/c:1", "https://ghcr.io/"),
        ("GHCR.io/a/b:1", "ghcr.io/a/b:1", "https://ghcr.io/"),
        ("registry:5000/repo/name:tag", "registry:5000/repo/name:tag", "https://registry:5000/"),
        ("registry:5000/repo/name", "registry:5000/repo/name:latest", "https://registry:5000/"),
        ("registry.test:443/a", "registry.test/a:latest", "https://registry.test/"),
        ("registry/a", "docker.io/registry/a:latest", "https://registry-1.docker.io/"),
        ("localhost/a", "localhost/a:latest", "https://localhost/"),
        ("localhost:5000/a", "localhost:5000/a:latest", "https://localhost:5000/"),
        ("127.0.0.1:5000/a", "127.0.0.1:5000/a:latest", "https://127.0.0.1:5000/"),
        ("[2001:db8::1]:5000/a:b", "[2001:db8::1]:5000/a:b", "https://[2001:db8::1]:5000/"),
        ("a.test/x__y/z.w/a--b:c", "a.test/x__y/z.w/a--b:c", "https://a.test/"),
        (&at("a.test/x"), &at("a.test/x"), "https://a.test/"),
        (&at("a.test:1/x/y:tag"), &at("a.test:1/x/y"), "https://a.test:1/"),
        (&at("foo"), &at("docker.io/library/foo"), "https://registry-1.docker.io/"),
    ] {
        let reference: Reference = text.parse().unwrap();
        assert_eq!(reference.to_string(), expected, "{text}");
        assert_eq!(reference.repository().base(false).unwrap().as_str(), base, "{text}");
        assert_eq!(expected.parse::<Reference>().unwrap(), reference, "{text}");
    }
}

#[test]
fn only_a_registry_on_this_machine_is_asked_without_tls_and_only_in_development() {
    for (text, expected) in [
        ("localhost:5000/a", "http://localhost:5000/"),
        ("127.1.2.3:5000/a", "http://127.1.2.3:5000/"),
        ("[::1]:5000/a", "http://[::1]:5000/"),
        ("192.0.2.1:5000/a", "https://192.0.2.1:5000/"),
        ("localhost.test/a", "https://localhost.test/"),
        ("a.localhost/a", "https://a.localhost/"),
        ("foo", "https://registry-1.docker.io/"),
    ] {
        let reference: Reference = text.parse().unwrap();
        assert_eq!(reference.repository().base(true).unwrap().as_str(), expected, "{text}");
        assert_eq!(reference.repository().base(false).unwrap().scheme(), "https", "{text}");
    }
}

#[test]
fn what_names_no_image_is_told_apart_and_not_repeated() {
    let long = "a".repeat(256);
    let long_tag = format!("a:{}", "b".repeat(129));
    for (text, said) in [
        ("", "a repository's name is made of"),
        ("Foo", "a repository's name is made of"),
        ("a//b", "a repository's name is made of"),
        ("a/../b", "a repository's name is made of"),
        ("-a", "a repository's name is made of"),
        ("a___b", "a repository's name is made of"),
        ("a.-b", "a repository's name is made of"),
        ("a?b", "a repository's name is made of"),
        (&long, "a repository's name is made of"),
        ("a:", "a tag is made of"),
        ("a:.b", "a tag is made of"),
        ("a:b c", "a tag is made of"),
        ("a:b?c", "a tag is made of"),
        (&long_tag, "a tag is made of"),
        ("a@", "is no digest"),
        ("a@sha256:00", "is no digest"),
        ("me:secret@registry.test/a", "User and password don't belong there"),
        ("oci://me:secret@registry.test/a", "User and password don't belong there"),
        ("http://registry.test/a", "it has a scheme"),
        ("oci://oci://registry.test/a", "it has a scheme"),
        ("reg_istry.test/a", "its registry is no host"),
        ("registry.test:99999/a", "its registry is no host"),
        ("registry.test:x/a", "its registry is no host"),
        ("[::1/a", "its registry is no host"),
    ] {
        let error = text.parse::<Reference>().unwrap_err().to_string();
        assert!(error.contains(said), "{text}: {error}");
        assert!(!error.contains("secret"), "{text}: {error}");
    }
}
