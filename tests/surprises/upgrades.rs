use http::StatusCode;
use tidegate::{Aimd, FeedbackLayer, GateLayer, HttpClassifier, Outcome, RequestBuilderExt};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tower::ServiceBuilder;

use crate::loopback::reqwest_client;
use crate::recording::Recording;
use crate::support::assert_free;

/// Agrees to speak something else, and then says everything again in capitals.
async fn shouts(listener: TcpListener) -> std::io::Result<()> {
    let (mut stream, _) = listener.accept().await?;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    let agreed =
        b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: shout\r\n\r\n";
    stream.write_all(agreed).await?;
    loop {
        let said = stream.read_u8().await?;
        stream.write_u8(said.to_ascii_uppercase()).await?;
    }
}

#[tokio::test]
async fn an_upgrade_gives_its_place_back_with_the_head_and_is_not_watched() -> anyhow::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/", listener.local_addr()?);
    let server = tokio::spawn(shouts(listener));

    let gate = GateLayer::new(1);
    let handle = gate.handle();
    let law = Recording::new(Aimd::new());
    let feedback = FeedbackLayer::new(HttpClassifier::default(), law.clone(), gate.handle());
    let client = reqwest_client().build()?;
    let stack = ServiceBuilder::new()
        .layer(gate)
        .layer(feedback)
        .service(client.clone());
    let request = client
        .get(url)
        .header("connection", "upgrade")
        .header("upgrade", "shout");
    let response = request.send_with(&stack).await?;
    assert_eq!(response.status(), StatusCode::SWITCHING_PROTOCOLS);
    assert_free(&handle, 1);

    let mut stream = response.upgrade().await?;
    stream.write_all(b"tide").await?;
    let mut answer = [0; 4];
    stream.read_exact(&mut answer).await?;
    assert_eq!(&answer, b"TIDE");
    assert_free(&handle, 1);
    assert_eq!(law.outcomes(), [Outcome::Success]);
    server.abort();
    Ok(())
}
