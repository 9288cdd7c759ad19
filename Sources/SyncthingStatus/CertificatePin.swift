#if Syncthing
    internal import AsyncHTTPClient
    internal import NIOCore
    internal import NIOSSL
    internal import Synchronization
    internal import SystemPackage
    internal import UbiquityContainers

    /// Makes connections only to a server that proves that it owns a given certificate.
    ///
    /// The usual verification cannot do this: a certificate that Syncthing has made for itself must not sign any
    /// certificate, including itself (it lacks keyCertSign), so no chain ends in it. TLS proves that the server has the
    /// certificate's key. This type checks that it is the given certificate, before any request uses the connection, and
    /// instead of names and chains.
    struct CertificatePin: Sendable, Hashable {
        private let certificate: NIOSSLCertificate

        /// The server has another certificate.
        struct OtherCertificate: Error {}

        private static let clients = Mutex<[CertificatePin: HTTPClient]>([:])

        /// Reads the certificate from a file.
        ///
        /// - Parameter file: a file in PEM with one certificate.
        /// - Throws: `SyncthingError` with `unusableCertificate`.
        init(_ file: FilePath) throws(SyncthingError) {
            let found: [NIOSSLCertificate]
            do {
                found = try NIOSSLCertificate.fromPEMBytes(LinuxFileLayer().read(file, limit: 1 << 20))
            } catch {
                throw SyncthingError(
                    .unusableCertificate, "\(file) cannot be read as a certificate; name Syncthing's https-cert.pem, and check that you may read it.",
                    cause: error)
            }
            // With several certificates the choice would be unclear.
            guard found.count == 1 else {
                throw SyncthingError(
                    .unusableCertificate,
                    "\(file) holds \(found.count) certificates; name a file that contains only Syncthing's own, its https-cert.pem."
                )
            }
            certificate = found[0]
        }

        /// Returns the client whose connections all check this certificate; there is one for the process, which never
        /// closes it.
        ///
        /// - Parameter configuration: the other settings of the connections; equal at each call.
        /// - Returns: the client.
        func client(_ configuration: HTTPClient.Configuration) -> HTTPClient {
            Self.clients.withLock { clients in
                if let client = clients[self] { return client }
                var configuration = configuration
                var security = TLSConfiguration.makeClientConfiguration()
                security.certificateVerification = .none
                configuration.tlsConfiguration = security
                // This runs before the connection is used; if it fails, requests fail with its error.
                configuration.http1_1ConnectionDebugInitializer = check
                let client = HTTPClient(eventLoopGroup: HTTPClient.defaultEventLoopGroup, configuration: configuration)
                clients[self] = client
                return client
            }
        }

        @Sendable private func check(_ channel: any Channel) -> EventLoopFuture<Void> {
            let shown = channel.eventLoop.inEventLoop ? try? channel.pipeline.syncOperations.nioSSL_peerCertificate() : nil
            if shown == certificate { return channel.eventLoop.makeSucceededVoidFuture() }
            // This runs after the pool knows of the failure, because the pool does not close the connection.
            channel.eventLoop.execute { channel.close(promise: nil) }
            return channel.eventLoop.makeFailedFuture(OtherCertificate())
        }
    }
#endif
