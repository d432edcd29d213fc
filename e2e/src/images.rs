//! A server of images on loopback: whatever is asked for is the same small installer, an ISO whose boot loader has
//! a configuration as GRUB reads it. There is no kernel worth its name in it: simulated machines run nothing.

use std::sync::Arc;

use anyhow::{Context, Result};
use axum::Router;
use axum::extract::{Request, State};
use axum::response::Response;
use beskar7_boot::ranges;
use beskar7_boot::volume::{File, bootable_iso};
use bytes::Bytes;
use tokio::net::TcpListener;

/// Where the boot loader's configuration is in the image.
pub const LOADER_CONFIGURATION: &str = "boot/grub/grub.cfg";

const GRUB: &str = "\
set default=0
set timeout=-1
menuentry 'Install' {
  linux /boot/vmlinuz quiet ---
  initrd /boot/initrd
}
";

/// The image.
pub fn installer() -> Result<Bytes> {
    let files = [
        File { path: LOADER_CONFIGURATION, content: Bytes::from_static(GRUB.as_bytes()) },
        File { path: "boot/vmlinuz", content: Bytes::from(vec![7; 40_000]) },
        File { path: "boot/initrd", content: Bytes::from(vec![8; 20_000]) },
        File { path: "boot/grub/efi.img", content: Bytes::from(vec![0; 4096]) },
    ];
    bootable_iso("INSTALLER", &files, "boot/grub/efi.img").context("an image for simulated machines")
}

/// Serves until the runtime ends, and says where.
pub async fn serve() -> Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await.context("a port for images")?;
    let address = listener.local_addr()?;
    let router = Router::new().fallback(answer).with_state(installer()?);
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(format!("http://{address}"))
}

async fn answer(State(image): State<Bytes>, request: Request) -> Response {
    ranges::answer(
        Arc::new(image),
        request.method(),
        request.headers(),
        "installer",
        "application/octet-stream",
    )
    .await
}

#[cfg(test)]
mod tests {
    use beskar7_boot::overlay::Image;

    use super::*;

    #[tokio::test]
    async fn the_image_takes_kernel_parameters() {
        let image = Image::inspect(&installer().unwrap()).await.unwrap();
        let overlay = image.with_arguments(&["a=b".to_owned()]).unwrap();
        assert_eq!(overlay.changed_files().len(), 1, "{:?}", overlay.changed_files());
    }
}
