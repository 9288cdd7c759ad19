internal import Foundation
internal import Glibc
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
package import Logging
internal import NIOCore
internal import ServiceLifecycle

/// A request that was let in.
package struct LoopbackRequest: Sendable {
    /// `GET` or `POST`.
    package var method: String
    /// The path, without escapes.
    package var path: String
    /// The parts of the query.
    package var query: [String: String]
    /// The body of a `POST`.
    package var body: [UInt8] = []
}

/// An answer.
package enum LoopbackAnswer: Sendable {
    /// Bytes of a media type, with a status of HTTP.
    case bytes([UInt8], type: String, status: Int = 200)
    /// Server-sent events, each as its bytes, until the stream or the connection ends.
    case events(AsyncStream<[UInt8]>)
}

/// Serves HTTP on 127.0.0.1 to this user's own browser.
package struct LoopbackServer: Sendable {
    /// The port cannot be had.
    package enum PortRefused: Error {
        /// Another server has it.
        case taken
        /// Only root may have it.
        case reserved
    }

    /// More connections wait until one ends: descriptors are left for the rest of the program.
    private static let connections = 200
    /// A connection without a request ends after this time.
    private static let idleTime = TimeAmount.seconds(30)

    private let allowsActions: Bool
    private let logger: Logger
    private let respond: @Sendable (LoopbackRequest) async -> LoopbackAnswer

    /// - Parameters:
    ///   - allowsActions: whether `POST` is let in.
    ///   - logger: receives problems of the server.
    ///   - respond: answers requests that were let in.
    package init(allowsActions: Bool, logger: Logger, respond: @escaping @Sendable (LoopbackRequest) async -> LoopbackAnswer) {
        (self.allowsActions, self.logger, self.respond) = (allowsActions, logger, respond)
    }

    /// Serves until the task is cancelled; then connections end with what they are answering now.
    ///
    /// - Parameters:
    ///   - port: the port; 0 takes a free one.
    ///   - isServing: is told who is let in, once the server has its port.
    /// - Throws: ``PortRefused``, or another error of the system.
    package func run(port: Int, isServing: @escaping @Sendable (LoopbackAccess) async -> Void) async throws {
        let keeper = LoopbackGate<BasicRequestContext>.Keeper()
        let router = Router()
        router.middlewares.add(LoopbackGate(keeper: keeper))
        for method in [HTTPRequest.Method.get, .post] {
            router.on("**", method: method) { request, _ in try await answer(request) }
            router.on("/", method: method) { request, _ in try await answer(request) }
        }
        let application = Application(
            router: router, server: .http1(configuration: .init(idleTimeout: Self.idleTime)),
            configuration: .init(
                address: .hostname("127.0.0.1", port: port), availableConnectionsDelegate: MaximumAvailableConnections(Self.connections)),
            onServerRunning: { [allowsActions] channel in
                let access = LoopbackAccess(port: channel.localAddress?.port ?? port, allowsActions: allowsActions)
                keeper.present = access
                await isServing(access)
            }, logger: logger)
        let group = ServiceGroup(configuration: .init(services: [application], logger: logger))
        let serving = Task { try await group.run() }
        do {
            try await withTaskCancellationHandler {
                try await serving.value
            } onCancel: {
                Task { await group.triggerGracefulShutdown() }
            }
        } catch let error as IOError where error.errnoCode == EADDRINUSE {
            throw PortRefused.taken
        } catch let error as IOError where error.errnoCode == EACCES {
            throw PortRefused.reserved
        }
    }

    private func answer(_ request: Request) async throws -> Response {
        var request = request
        let query = Dictionary(request.uri.queryParameters.map { (String($0.key), String($0.value)) }) { first, _ in first }
        var asked = LoopbackRequest(
            method: request.method.rawValue, path: request.uri.path.removingPercentEncoding ?? request.uri.path, query: query)
        if request.method == .post { asked.body = Array(buffer: try await request.collectBody(upTo: 1 << 16)) }
        switch await respond(asked) {
        case .bytes(let bytes, let type, let status): return .bytes(bytes, type, status: .init(code: status))
        case .events(let events):
            return Response(
                status: .ok, headers: [.contentType: "text/event-stream"],
                body: ResponseBody { writer in
                    for await event in events.cancelOnGracefulShutdown() { try await writer.write(ByteBuffer(bytes: event)) }
                    try await writer.finish(nil)
                })
        }
    }
}
