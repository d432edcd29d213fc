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

/// A disk that takes nothing: a file that was opened for reading only.
#[tokio::test]
async fn a_disk_that_takes_nothing_is_left_out_and_said_once() {
    use crate::source::{Source as _, read};
    use crate::upstream::{UpstreamSettings, Upstreams};

    let content = bytes::Bytes::from(vec![7; 3 << 20]);
    let served = content.clone();
    let handler = async move |request: axum::extract::Request| {
        crate::ranges::answer(Arc::new(served), request.method(), request.headers(), "one", "x/y").await
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/x.iso", listener.local_addr().unwrap());
    let router = axum::Router::new().fallback(handler);
    tokio::spawn(async move { axum::serve(listener, router).await });

    let directory = tempfile::tempdir().unwrap();
    let cache = CacheSettings { directory: directory.path().to_owned(), limit: 100 << 20 };
    let settings =
        UpstreamSettings { allow_loopback: true, cache: Some(cache), ..UpstreamSettings::default() };
    let upstream = Upstreams::new(&settings).unwrap().open(&url).await.unwrap();
    let path = directory.path().join("full");
    create(&path).unwrap();
    let image = Arc::new(Image::new(File::open(&path).unwrap(), path, upstream.length()));
    let cache = upstream.cache.clone().unwrap();
    cache.kept().images.insert(upstream.pin().clone(), image.clone());

    assert!(read(&upstream, 5..3 << 20).await.unwrap() == content.slice(5..), "other bytes");
    assert!(image.has_failed());
    // Nothing is counted that is not there.
    assert_eq!((cache.kept().used, image.stored()), (0, 0));
    assert!(read(&upstream, 5..3 << 20).await.unwrap() == content.slice(5..), "other bytes");
}

#[tokio::test(start_paused = true)]
async fn a_file_that_was_given_up_is_made_anew_after_a_while() {
    let directory = tempfile::tempdir().unwrap();
    let cache = Cache::new(&CacheSettings { directory: directory.path().to_owned(), limit: 100 }).unwrap();
    let validator = crate::upstream::pin::Validator::Strong("\"one\"".to_owned());
    let pin = Pin::new(&"http://a.test/x.iso".parse().unwrap(), validator, 10);
    let first = cache.begin(&pin).unwrap();
    cache.reserve(first.image(), 10).unwrap().used();
    first.image().fail(&io::ErrorKind::StorageFull.into());
    let image = first.image().clone();
    let is_the_same = || Arc::ptr_eq(cache.begin(&pin).unwrap().image(), &image);
    tokio::time::advance(std::time::Duration::from_secs(301)).await;
    assert!(is_the_same(), "it is still read");
    drop(first);
    assert!(!is_the_same());
    assert_eq!(cache.kept().used, 0);
}

/// Nothing is made as large as an image is said to be, and nothing goes through all its blocks.
#[tokio::test]
async fn an_image_takes_what_is_kept_of_it_and_not_what_its_server_says() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("absurd");
    let file = create(&path).unwrap();
    let image = Image::new(file, path, u64::MAX);
    assert_eq!(image.missing_until(0), u64::MAX);
    image.store(0, bytes::Bytes::from_static(b"first")).await.unwrap();
    image.store(200, bytes::Bytes::from_static(b"another")).await.unwrap();
    assert!(image.has(0) && image.has(200) && !image.has(1) && !image.has(199) && !image.has(201));
    assert_eq!([0, 1, 199].map(|block| image.missing_until(block)), [200 * BLOCK; 3]);
    assert_eq!([200, 201, 1 << 40].map(|block| image.missing_until(block)), [u64::MAX; 3]);
    image.fail(&io::ErrorKind::StorageFull.into());
    assert!(!image.has(0));
    assert_eq!(image.missing_until(0), u64::MAX);
}

#[tokio::test]
async fn there_are_so_many_images_and_no_more_and_the_one_not_read_for_longest_goes_first() {
    let directory = tempfile::tempdir().unwrap();
    let settings = CacheSettings { directory: directory.path().to_owned(), limit: 100 };
    let cache = Cache { most: 2, ..Cache::new(&settings).unwrap() };
    let pin = |name: &str| {
        let validator = crate::upstream::pin::Validator::Strong("\"one\"".to_owned());
        Pin::new(&format!("http://a.test/{name}").parse().unwrap(), validator, 10)
    };
    let kept = || {
        let kept = cache.kept();
        ["a", "b", "c"].map(|name| kept.images.contains_key(&pin(name)))
    };
    let (a, b) = (cache.begin(&pin("a")).unwrap(), cache.begin(&pin("b")).unwrap());
    assert!(cache.begin(&pin("c")).is_none(), "both are being read");
    assert!(cache.begin(&pin("a")).is_some(), "it is there already");
    cache.reserve(b.image(), 10).unwrap().used();
    drop((a, b));
    drop(cache.begin(&pin("c")).unwrap());
    assert_eq!(kept(), [true, false, true], "a was read after b");
    assert_eq!(cache.kept().used, 0, "what b took is free");
    drop(cache.begin(&pin("b")).unwrap());
    assert_eq!(kept(), [false, true, true]);
}
