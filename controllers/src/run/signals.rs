//! SIGINT and SIGTERM: the first asks to stop, the second to stop at once.

use std::io;

use tokio::{
    signal::unix::{SignalKind, signal},
    sync::watch,
};

/// How often the process was asked to stop.
pub(super) struct Signals(watch::Receiver<u32>);

impl Signals {
    /// Listens from now on; signals do not end the process by themselves any more.
    pub(super) fn listen() -> io::Result<Self> {
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let (count, receiver) = watch::channel(0);
        tokio::spawn(async move {
            loop {
                let name = tokio::select! {
                    _ = interrupt.recv() => "SIGINT",
                    _ = terminate.recv() => "SIGTERM",
                };
                tracing::info!(signal = name, "asked to stop");
                count.send_modify(|count| *count += 1);
            }
        });
        Ok(Self(receiver))
    }

    /// Ends when the process is asked to stop.
    pub(super) async fn first(&self) {
        self.at_least(1).await;
    }

    /// Ends when the process is asked to stop at once.
    pub(super) async fn second(&self) {
        self.at_least(2).await;
    }

    async fn at_least(&self, times: u32) {
        if self.0.clone().wait_for(|count| *count >= times).await.is_err() {
            std::future::pending().await
        }
    }
}
