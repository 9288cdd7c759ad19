internal import AsyncHTTPClient
internal import NIOCore
internal import NIOSSL
internal import Synchronization

/// Makes connections to who can prove that one certificate is its own, and asks nothing of anybody else.
///
/// The usual verification cannot be told this: a certificate that Syncthing has made for itself may sign none, itself included (it lacks
/// keyCertSign), so that no chain ends in it. TLS proves that the other side has the certificate's key; that it is this certificate is looked at
/// here, before a connection is given to any request, and in place of names and chains.
struct CertificatePin: Sendable, Hashable {
    let certificate: NIOSSLCertificate

    /// Somebody else answers.
    struct OtherCertificate: Error {}

    private static let clients = Mutex<[CertificatePin: HTTPClient]>([:])

    /// The client whose connections all go to who has the certificate; one for the process, which never ends it.
    ///
    /// - Parameter configuration: what else holds for the connections, alike at each call.
    /// - Returns: the client.
    func client(_ configuration: HTTPClient.Configuration) -> HTTPClient {
        Self.clients.withLock { clients in
            if let client = clients[self] { return client }
            var configuration = configuration
            var security = TLSConfiguration.makeClientConfiguration()
            security.certificateVerification = .none
            configuration.tlsConfiguration = security
            // Runs before the connection is used; where it fails, requests fail with its error.
            configuration.http1_1ConnectionDebugInitializer = check
            let client = HTTPClient(eventLoopGroup: HTTPClient.defaultEventLoopGroup, configuration: configuration)
            clients[self] = client
            return client
        }
    }

    @Sendable private func check(_ channel: any Channel) -> EventLoopFuture<Void> {
        let shown = channel.eventLoop.inEventLoop ? try? channel.pipeline.syncOperations.nioSSL_peerCertificate() : nil
        if shown == certificate { return channel.eventLoop.makeSucceededVoidFuture() }
        // Once the pool has heard of the failure: it does not close the connection.
        channel.eventLoop.execute { channel.close(promise: nil) }
        return channel.eventLoop.makeFailedFuture(OtherCertificate())
    }
}
