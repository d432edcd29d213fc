//! A real server, where it is installed.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use beskar7_boot::source::{Source as _, SourceError, read};
use beskar7_boot::upstream::{CacheSettings, UpstreamSettings, Upstreams};
use tempfile::TempDir;

use super::server::content;
use super::settings;

/// nginx on loopback, with a configuration and files of its own.
struct Nginx {
    process: Child,
    directory: TempDir,
    http: u16,
    https: u16,
    ca: Vec<u8>,
}

impl Drop for Nginx {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

fn program() -> Option<PathBuf> {
    let places = std::env::var_os("PATH").unwrap_or_default();
    let mut places: Vec<PathBuf> = std::env::split_paths(&places).collect();
    // Debian's is not in everybody's path.
    places.push("/usr/sbin".into());
    places.into_iter().map(|place| place.join("nginx")).find(|path| path.exists())
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Starts it; `None`, and a word about it, where it is not installed.
async fn start(test: &str) -> Option<Nginx> {
    let Some(program) = program() else {
        beskar7_skipped::skipped(test, "nginx is not installed");
        return None;
    };
    let directory = tempfile::tempdir().unwrap();
    let key = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (http, https) = (free_port(), free_port());
    let at = |name: &str| directory.path().join(name);
    fs::write(at("cert.pem"), key.cert.pem()).unwrap();
    fs::write(at("key.pem"), key.signing_key.serialize_pem()).unwrap();
    fs::create_dir(at("www")).unwrap();
    fs::write(at("nginx.conf"), configuration(directory.path(), http, https)).unwrap();
    let process = Command::new(program)
        .arg("-c")
        .arg(at("nginx.conf"))
        .arg("-p")
        .arg(directory.path())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let ca = key.cert.pem().into_bytes();
    let nginx = Nginx { process, directory, http, https, ca };
    let answers = async {
        while tokio::net::TcpStream::connect(("127.0.0.1", https)).await.is_err() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), answers).await.expect("nginx does not answer");
    Some(nginx)
}

fn configuration(directory: &Path, http: u16, https: u16) -> String {
    let directory = directory.display();
    format!(
        "daemon off;\nmaster_process off;\npid {directory}/nginx.pid;\nerror_log {directory}/error.log;\n\
         events {{ worker_connections 64; }}\n\
         http {{\n  access_log off;\n  root {directory}/www;\n  client_body_temp_path {directory}/body;\n  \
         proxy_temp_path {directory}/proxy;\n  fastcgi_temp_path {directory}/fastcgi;\n  \
         uwsgi_temp_path {directory}/uwsgi;\n  scgi_temp_path {directory}/scgi;\n  \
         server {{\n    listen 127.0.0.1:{http};\n    location /whole/ {{ alias {directory}/www/; max_ranges 0; }}\n  }}\n  \
         server {{\n    listen 127.0.0.1:{https} ssl;\n    ssl_certificate {directory}/cert.pem;\n    \
         ssl_certificate_key {directory}/key.pem;\n    \
         location /plain/ {{ return 302 http://localhost:{http}/image.iso; }}\n  }}\n}}\n"
    )
}

impl Nginx {
    fn write(&self, content: &[u8]) {
        // By renaming, as whoever publishes an image should.
        let at = |name: &str| self.directory.path().join("www").join(name);
        fs::write(at("new"), content).unwrap();
        fs::rename(at("new"), at("image.iso")).unwrap();
    }

    fn url(&self, path: &str) -> String {
        format!("http://localhost:{}/{path}", self.http)
    }
}

#[tokio::test]
async fn nginx_gives_ranges_and_a_replaced_file_is_seen() {
    let test = "nginx_gives_ranges_and_a_replaced_file_is_seen";
    let Some(nginx) = start(test).await else { return };
    let image = content(5_000_000);
    nginx.write(&image);
    let upstream = Upstreams::new(&settings()).unwrap().open(&nginx.url("image.iso")).await.unwrap();
    assert_eq!(upstream.length(), 5_000_000);
    for (start, end) in [(0, 1), (4_999_999, 5_000_000), (12_345, 2_345_678), (0, 5_000_000)] {
        assert_eq!(read(&upstream, start as u64..end as u64).await.unwrap(), image[start..end]);
    }
    nginx.write(&content(4_000_000));
    let error = read(&upstream, 10..20).await.unwrap_err();
    assert_eq!(error, SourceError::Changed(nginx.url("image.iso")));
}

#[tokio::test]
async fn nginx_without_ranges_is_refused_without_a_cache_and_fetched_once_with_one() {
    let test = "nginx_without_ranges_is_refused_without_a_cache_and_fetched_once_with_one";
    let Some(nginx) = start(test).await else { return };
    let image = content(5_000_000);
    nginx.write(&image);
    let url = nginx.url("whole/image.iso");
    let error = Upstreams::new(&settings()).unwrap().open(&url).await.unwrap_err().to_string();
    assert!(
        error.contains("its server answers no ranges") && error.contains("turn the image cache on"),
        "{error}"
    );

    let directory = tempfile::tempdir().unwrap();
    let cached = |limit| {
        let cache = Some(CacheSettings { directory: directory.path().to_owned(), limit });
        Upstreams::new(&UpstreamSettings { cache, ..settings() }).unwrap()
    };
    let error = cached(4_999_999).open(&url).await.unwrap_err().to_string();
    assert!(error.contains("its 5000000 bytes are more than the 4999999 of the image cache"), "{error}");
    let upstream = cached(5_000_000).open(&url).await.unwrap();
    assert_eq!(read(&upstream, 4_000_000..4_500_000).await.unwrap(), image[4_000_000..4_500_000]);
    assert_eq!(read(&upstream, 0..5_000_000).await.unwrap(), image);
}

#[tokio::test]
async fn https_is_trusted_by_the_bundle_and_not_left_for_http() {
    let test = "https_is_trusted_by_the_bundle_and_not_left_for_http";
    let Some(nginx) = start(test).await else { return };
    nginx.write(b"0123456789");
    let url = format!("https://localhost:{}/image.iso", nginx.https);
    let error = Upstreams::new(&settings()).unwrap().open(&url).await.unwrap_err().to_string();
    assert!(error.contains("invalid peer certificate"), "{error}");

    let trusting = UpstreamSettings { extra_ca: Some(nginx.ca.clone()), ..settings() };
    let trusting = Upstreams::new(&trusting).unwrap();
    let upstream = trusting.open(&url).await.unwrap();
    assert_eq!(read(&upstream, 3..6).await.unwrap(), "345");
    let away = format!("https://localhost:{}/plain/", nginx.https);
    let error = trusting.open(&away).await.unwrap_err().to_string();
    assert!(error.contains("it redirects from https to http://localhost:"), "{error}");
}
