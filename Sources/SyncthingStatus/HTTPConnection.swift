#if Syncthing
    internal import AsyncHTTPClient
    internal import NIOCore
    internal import NIOHTTP1
    internal import NIOSSL

    /// Sends requests over HTTP, with async-http-client.
    enum HTTPConnection {
        /// A port without a listener fails at once without retries, and redirects are not followed, so that the key reaches
        /// no other address.
        private static let configuration: HTTPClient.Configuration = {
            var configuration = HTTPClient.Configuration()
            configuration.connectionPool.retryConnectionEstablishment = false
            configuration.redirectConfiguration = .disallow
            configuration.httpVersion = .http1Only
            return configuration
        }()

        /// The process's client, which is never closed.
        private static let client = HTTPClient(eventLoopGroup: HTTPClient.defaultEventLoopGroup, configuration: configuration)

        /// Sends a request.
        ///
        /// - Parameters:
        ///   - request: the request.
        ///   - pin: the only trusted certificate; nil trusts the system's authorities.
        ///   - limit: the greatest number of bytes of an answer.
        /// - Returns: the HTTP status and the body.
        /// - Throws: what the client throws; `CancellationError` after a cancellation.
        static func send(_ request: HTTPRequest, pin: CertificatePin?, limit: Int) async throws -> (status: Int, bytes: [UInt8]) {
            var sent = HTTPClientRequest(url: request.url)
            sent.method = HTTPMethod(rawValue: request.method)
            for (name, value) in request.headers { sent.headers.add(name: name, value: value) }
            if let body = request.body { sent.body = .bytes(body) }
            let response = try await (pin?.client(configuration) ?? client).execute(sent, deadline: .distantFuture)
            let body = try await response.body.collect(upTo: limit)
            return (Int(response.status.code), [UInt8](body.readableBytesView))
        }

        /// Whether a request failed because the server's certificate is not trusted.
        static func isDistrust(_ error: any Error) -> Bool {
            error is CertificatePin.OtherCertificate || error is NIOSSLError && "\(error)".contains("CERTIFICATE_VERIFY_FAILED")
        }
    }
#endif
