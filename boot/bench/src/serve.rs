//! Our server as a process of its own: one image, from its upstream, through the cache or not, as it is or changed.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use anyhow::{Context, Result};
use axum::Router;
use axum::extract::{Request, State};
use axum::response::Response;
use axum::serve::ListenerExt as _;
use beskar7_boot::overlay::Image;
use beskar7_boot::ranges::answer;
use beskar7_boot::source::Source;
use beskar7_boot::upstream::{CacheSettings, UpstreamSettings, Upstreams};
use tokio::net::TcpListener;

/// One server.
#[derive(Debug, Clone, clap::Args)]
pub struct Serve {
    /// The image's URL
    #[arg(long)]
    upstream: String,

    /// Where it is kept; without it, nowhere
    #[arg(long)]
    cache: Option<PathBuf>,

    /// Kernel parameters that are put into it
    #[arg(long)]
    arguments: Vec<String>,
}

impl Serve {
    pub fn plain(upstream: &str) -> Self {
        Self { upstream: upstream.to_owned(), cache: None, arguments: Vec::new() }
    }

    pub fn cached(mut self, directory: PathBuf) -> Self {
        self.cache = Some(directory);
        self
    }

    pub fn overlaid(mut self, arguments: &[&str]) -> Self {
        self.arguments = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        self
    }
}

/// Serves until it is killed.
pub fn run(serve: &Serve) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let source = source(serve).await?;
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        println!("{}", listener.local_addr()?);
        // As the boot server does it.
        let listener = listener.tap_io(|stream| {
            stream.set_nodelay(true).ok();
        });
        Ok(axum::serve(listener, Router::new().fallback(handle).with_state(source)).await?)
    })
}

async fn handle(State(source): State<Arc<dyn Source>>, request: Request) -> Response {
    answer(source, request.method(), request.headers(), "bench", "application/octet-stream").await
}

async fn source(serve: &Serve) -> Result<Arc<dyn Source>> {
    let cache = serve.cache.clone().map(|directory| CacheSettings { directory, limit: u64::MAX });
    let settings = UpstreamSettings { allow_loopback: true, cache, ..UpstreamSettings::default() };
    let upstream = Arc::new(Upstreams::new(&settings)?.open(&serve.upstream).await?);
    if serve.arguments.is_empty() {
        return Ok(upstream);
    }
    let overlay = Image::inspect(upstream.as_ref()).await?.with_arguments(&serve.arguments)?;
    Ok(Arc::new(Arc::new(overlay).over(upstream)))
}

/// Our server, running. It does not outlive this.
pub struct Ours {
    child: Child,
    address: SocketAddr,
}

impl Ours {
    /// Starts one that serves an image; it listens when this returns.
    pub fn start(serve: &Serve) -> Result<Self> {
        let mut arguments: Vec<&OsStr> = vec!["--upstream".as_ref(), serve.upstream.as_ref()];
        if let Some(cache) = &serve.cache {
            arguments.extend(["--cache".as_ref(), cache.as_os_str()]);
        }
        for argument in &serve.arguments {
            arguments.extend([OsStr::new("--arguments"), OsStr::new(argument)]);
        }
        Self::spawn("serve", &arguments)
    }

    /// Starts one by the command that this program has for it; it listens when this returns.
    pub fn spawn(command: &str, arguments: &[&OsStr]) -> Result<Self> {
        let mut command_line = Command::new(std::env::current_exe()?);
        command_line.arg(command).args(arguments).stdout(Stdio::piped());
        let mut child = command_line.spawn().context("can't start our own server")?;
        let output = child.stdout.take().context("our own server has no output")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        let address = line.trim().parse().context("our own server said no address")?;
        Ok(Self { child, address })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Ours {
    fn drop(&mut self) {
        // There is nobody to tell, and it has no state worth an orderly end.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
