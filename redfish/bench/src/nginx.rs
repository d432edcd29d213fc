//! nginx on loopback, with a configuration and files of its own: never the system's.

use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};

/// Where Debian has it, which is not in everybody's path.
const PROGRAMS: [&str; 2] = ["nginx", "/usr/sbin/nginx"];

/// A running nginx. It does not outlive this.
pub struct Nginx {
    child: Child,
    address: SocketAddr,
}

impl Nginx {
    /// Serves a directory; it listens when this returns.
    pub fn start(own: &Path, files: &Path) -> Result<Self> {
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let configuration = own.join("nginx.conf");
        fs::write(&configuration, text(own, files, address))?;
        let child = Command::new(program()?)
            .arg("-p")
            .arg(own)
            .arg("-c")
            .arg(&configuration)
            .stderr(Stdio::null())
            .spawn()
            .context("can't start nginx")?;
        let nginx = Self { child, address };
        let begun = Instant::now();
        while TcpStream::connect(address).is_err() {
            ensure!(begun.elapsed() < Duration::from_secs(20), "nginx does not listen");
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(nginx)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its first process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // Killed, it would leave its workers behind.
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        if pid.is_none_or(|pid| kill_process(pid, Signal::TERM).is_err()) {
            self.child.kill().ok();
        }
        self.child.wait().ok();
    }
}

fn program() -> Result<&'static str> {
    let runs = |program: &&str| Command::new(program).arg("-v").stderr(Stdio::null()).status().is_ok();
    PROGRAMS.into_iter().find(runs).context("nginx is not installed: it is what this compares with")
}

/// What it calls itself, in a line.
pub fn version() -> Result<String> {
    let output = Command::new(program()?).arg("-v").output()?;
    Ok(String::from_utf8_lossy(&output.stderr).trim().replace("nginx version: ", "Compared with ") + ".\n")
}

/// As good as it gets: no log, files sent by the kernel, a worker for each core. Where it is not started by root it ignores
/// `user`; where it is, its workers could not read our files as anybody else.
fn text(own: &Path, files: &Path, address: SocketAddr) -> String {
    let (own, files) = (own.display(), files.display());
    let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .iter()
        .map(|name| format!("  {name}_temp_path {own}/{name};\n"))
        .collect();
    format!(
        "daemon off;\nuser root;\nworker_processes auto;\npid {own}/nginx.pid;\nerror_log {own}/error.log;\n\
         events {{ worker_connections 4096; }}\n\
         http {{\n{temporary}  access_log off;\n  sendfile on;\n  tcp_nodelay on;\n  \
         keepalive_requests 10000000;\n  open_file_cache max=10;\n  \
         server {{ listen {address} reuseport; root {files}; }}\n}}\n"
    )
}
