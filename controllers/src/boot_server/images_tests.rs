use axum::{
    Router,
    body::Bytes,
    extract::{Path, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use beskar7_boot::{
    source::{SourceError, read},
    upstream::UpstreamSettings,
    volume::{File, iso},
};

use super::*;

/// `u:a` and `u:b`, as browsers send them.
const FIRST: &str = "Basic dTph";
const SECOND: &str = "Basic dTpi";

#[test]
fn what_was_not_used_for_longest_goes() {
    let mut kept = Kept::new(2);
    kept.put("a", 1);
    kept.put("b", 2);
    assert_eq!(kept.get(&"a"), Some(1));
    kept.put("c", 3);
    assert_eq!((kept.get(&"a"), kept.get(&"b"), kept.get(&"c")), (Some(1), None, Some(3)));
}

#[test]
fn what_is_too_heavy_together_goes_too_but_for_the_last() {
    let mut kept = Kept::within(9, 10, |weight| *weight);
    kept.put("a", 4);
    kept.put("b", 4);
    kept.put("a", 6);
    assert_eq!((kept.get(&"b"), kept.get(&"a")), (Some(4), Some(6)), "what it replaced weighs nothing");
    kept.put("c", 1);
    assert_eq!((kept.get(&"a"), kept.get(&"b"), kept.get(&"c")), (Some(6), None, Some(1)));
    kept.put("d", 99);
    assert_eq!((kept.get(&"a"), kept.get(&"c"), kept.get(&"d")), (None, None, Some(99)));
    kept.forget(&"d");
    kept.put("e", 10);
    kept.put("f", 1);
    assert_eq!((kept.get(&"e"), kept.get(&"f")), (None, Some(1)));
}

/// An image of which the boot loader's configuration can be changed.
fn image() -> Bytes {
    let menu = "menuentry 'Install' {\n    linux /vmlinuz quiet\n    initrd /initrd\n}\n";
    let file = |path, content: &'static str| File { path, content: Bytes::from_static(content.as_bytes()) };
    iso("INSTALL", &[file("boot/grub/grub.cfg", menu), file("vmlinuz", "a kernel")]).unwrap()
}

struct Server {
    image: Bytes,
    /// Who may read.
    user: Mutex<&'static str>,
}

/// Gives the image under any name, by range, to who may read it. Each name has an ETag of its own.
async fn answer(State(server): State<Arc<Server>>, Path(name): Path<String>, headers: HeaderMap) -> Response {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    if text(header::AUTHORIZATION) != Some(*lock(&server.user)) {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    let (first, last) = text(header::RANGE).unwrap().strip_prefix("bytes=").unwrap().split_once('-').unwrap();
    let first: usize = first.parse().unwrap();
    let last = last.parse::<usize>().unwrap().min(server.image.len() - 1);
    let range = format!("bytes {first}-{last}/{}", server.image.len());
    let described = [(header::ETAG, format!("\"{name}\"")), (header::CONTENT_RANGE, range)];
    (StatusCode::PARTIAL_CONTENT, described, server.image.slice(first..=last)).into_response()
}

/// Images of a server that lets `FIRST` read, and how their URLs go on behind user and password.
async fn images() -> (Images, Arc<Server>, String) {
    let server = Arc::new(Server { image: image(), user: Mutex::new(FIRST) });
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let routes = Router::new().route("/{name}", get(answer)).with_state(server.clone());
    tokio::spawn(async move { axum::serve(listener, routes).await });
    let mut settings = UpstreamSettings { allow_loopback: true, ..UpstreamSettings::default() };
    settings.limits.resumes = 0;
    (Images::new(Upstreams::new(&settings).unwrap()), server, host)
}

async fn reads(presented: &Presented) -> Result<Bytes, SourceError> {
    read(presented.source.as_ref(), 0..2048).await
}

#[tokio::test]
async fn an_image_is_read_with_the_password_that_its_url_has_now() {
    let (images, server, host) = images().await;
    let arguments = ["console=ttyS0".to_owned()];
    let (old, new) = (format!("http://u:a@{host}/a.iso"), format!("http://u:b@{host}/a.iso"));
    let before = images.prepare(&old, &arguments).await.unwrap();
    assert!(reads(&before).await.is_ok());

    *lock(&server.user) = SECOND;
    let refused = reads(&before).await;
    assert!(matches!(refused, Err(SourceError::Unreadable { .. })), "{refused:?}");
    let after = images.prepare(&new, &arguments).await.unwrap();
    assert_eq!(after.pin, before.pin, "credentials have no part in it");
    assert!(reads(&after).await.is_ok());
    let presented = images.present(&new, &before.pin, &arguments).await.unwrap();
    assert!(reads(&presented).await.is_ok());
    // With other parameters, of which nothing is kept.
    let presented = images.present(&new, &before.pin, &["quiet".to_owned()]).await.unwrap();
    assert!(reads(&presented).await.is_ok());
}

#[tokio::test]
async fn a_pin_is_good_only_for_what_its_own_url_leads_to() {
    let (images, _server, host) = images().await;
    let arguments = ["console=ttyS0".to_owned()];
    let (ours, others) = (format!("http://u:a@{host}/a.iso"), format!("http://u:a@{host}/b.iso"));
    let pin = images.prepare(&ours, &arguments).await.unwrap().pin;
    for arguments in [&arguments, &["quiet".to_owned()]] {
        assert!(images.present(&ours, &pin, arguments).await.is_ok());
        let presented = images.present(&others, &pin, arguments).await;
        assert!(matches!(presented, Err(ImageError::Changed)));
    }
}
