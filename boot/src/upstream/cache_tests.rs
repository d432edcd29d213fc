use super::*;

#[test]
fn only_our_own_files_are_removed() {
    let directory = tempfile::tempdir().unwrap();
    let ours = directory.path().join("beskar7-image-0123456789abcdef-1.blocks");
    let others = ["beskar7-image-x", "notes.blocks", "debian.iso"].map(|name| directory.path().join(name));
    for path in others.iter().chain([&ours]) {
        fs::write(path, "x").unwrap();
    }
    let named_like_ours = directory.path().join("beskar7-image-directory.blocks");
    fs::create_dir(&named_like_ours).unwrap();
    Cache::new(&CacheSettings { directory: directory.path().to_owned(), limit: 1 }).unwrap();
    assert!(!ours.exists());
    for path in others.iter().chain([&named_like_ours]) {
        assert!(path.exists(), "{}", path.display());
    }
}
