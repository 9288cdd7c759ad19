#if HTTP
    internal import AsyncHTTPClient
    internal import Foundation
    internal import NIOCore
    internal import NIOHTTP1
    internal import ObjectTransfer
    internal import SystemPackage

    /// Sends requests to a running rclone, over its private Unix socket.
    struct RcloneConnection: Sendable {
        let socket: FilePath
        private static let client = HTTPClient(eventLoopGroup: HTTPClient.defaultEventLoopGroup, configuration: configuration)
        /// The greatest number of bytes of an answer: a listing of a million objects.
        private static let limit = 512 << 20

        private static let configuration: HTTPClient.Configuration = {
            var configuration = HTTPClient.Configuration()
            configuration.connectionPool.retryConnectionEstablishment = false
            configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 32
            configuration.redirectConfiguration = .disallow
            configuration.httpVersion = .http1Only
            return configuration
        }()

        private struct Failure: Decodable {
            var error: String
            var status: Int?
        }

        /// Calls a function of the remote control.
        ///
        /// - Parameters:
        ///   - function: its path, such as `operations/list`.
        ///   - parameters: its parameters.
        ///   - type: the type of the answer.
        ///   - limit: how long it may take.
        /// - Returns: the answer.
        /// - Throws: `ObjectStoreError`; `CancellationError`.
        func call<Answer: Decodable>(
            _ function: String, _ parameters: some Encodable, as type: Answer.Type, within limit: Duration
        ) async throws -> Answer {
            let encoded = socket.string.addingPercentEncoding(withAllowedCharacters: .alphanumerics)!
            var request = HTTPClientRequest(url: "http+unix://\(encoded)/\(function)")
            request.method = .POST
            request.headers.add(name: "Content-Type", value: "application/json")
            request.headers.add(name: "Host", value: "localhost")
            request.body = .bytes([UInt8](try JSONEncoder().encode(parameters)))
            let status: Int
            let bytes: [UInt8]
            do {
                let response = try await Self.client.execute(request, deadline: .now() + .nanoseconds(Int64(limit / .nanoseconds(1))))
                status = Int(response.status.code)
                bytes = [UInt8](try await response.body.collect(upTo: Self.limit).readableBytesView)
            } catch let error as CancellationError {
                throw error
            } catch {
                try Task.checkCancellation()
                if let error = error as? HTTPClientError, error == .deadlineExceeded || error == .readTimeout {
                    throw ObjectStoreError(.timedOut, "rclone has not answered within \(Int(limit / .seconds(1))) s.")
                }
                throw ObjectStoreError(.unreachable, "rclone does not answer.")
            }
            guard status == 200 else {
                let failure = try? JSONDecoder().decode(Failure.self, from: Data(bytes))
                throw ObjectStoreError.rclone(failure?.error ?? "HTTP status \(status)", status: failure?.status ?? status)
            }
            do {
                return try JSONDecoder().decode(type, from: Data(bytes))
            } catch {
                throw ObjectStoreError(.other, "rclone's answer to \(function) cannot be read.")
            }
        }
    }
#endif
