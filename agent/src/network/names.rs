//! Who is asked for names.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::net::Ipv4Addr;
use std::path::Path;

/// Tells the C library's resolver. With none, what is there stays.
pub(super) fn write(etc: &Path, servers: &[Ipv4Addr]) -> io::Result<()> {
    if servers.is_empty() {
        return Ok(());
    }
    let text = servers.iter().fold(String::new(), |mut text, server| {
        // A text takes everything.
        let _always = writeln!(text, "nameserver {server}");
        text
    });
    fs::create_dir_all(etc)?;
    fs::write(etc.join("resolv.conf"), text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_servers_are_written_for_the_resolver() {
        let root = tempfile::tempdir().unwrap();
        let etc = root.path().join("etc");
        write(&etc, &[Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2)]).unwrap();
        write(&etc, &[]).unwrap();
        let text = fs::read_to_string(etc.join("resolv.conf")).unwrap();
        assert_eq!(text, "nameserver 10.0.0.1\nnameserver 10.0.0.2\n");
    }
}
