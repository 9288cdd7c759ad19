internal import CLinux
internal import Foundation
internal import Glibc
internal import SystemPackage
package import UbiquityContainers

/// Asks the agent of a device home.
package struct TransferClient: Sendable {
    package let home: TransferHome

    package init(_ home: DeviceHome) { self.home = TransferHome(home) }

    /// No agent answers.
    package struct NoAgent: Error, Hashable, CustomStringConvertible {
        package init() {}

        package var description: String {
            "No transfer agent runs for this device home; start it with: systemctl --user start ubtransfer, or run ubtransfer in a terminal."
        }
    }

    /// Whether an agent answers.
    package var hasAgent: Bool {
        guard let connection = try? connect() else { return false }
        close(connection)
        return true
    }

    /// Asks, and returns the answer.
    ///
    /// - Parameter request: the request.
    /// - Returns: the answer; never `failed`.
    /// - Throws: ``NoAgent``; `ObjectStoreError` with the agent's reason.
    package func ask(_ request: TransferRequest) async throws -> TransferAnswer {
        try await blocking {
            let connection = try connect()
            defer { close(connection) }
            guard AgentSocket.write(request, to: connection) else { throw NoAgent() }
            var reader = AgentSocket.LineReader(connection)
            guard let line = reader.next() else { throw NoAgent() }
            let answer = try JSONDecoder().decode(TransferAnswer.self, from: Data(line))
            if case .failed(let reason) = answer { throw ObjectStoreError(.other, reason) }
            return answer
        }
    }

    /// Asks for the status.
    ///
    /// - Throws: as ``ask(_:)`` does.
    package func status() async throws -> TransferStatus {
        guard case .status(let status) = try await ask(.status) else { throw NoAgent() }
        return status
    }

    /// The status now, and after each change, until the agent or the reader's task ends.
    package func statuses() -> AsyncThrowingStream<TransferStatus, any Error> {
        AsyncThrowingStream { continuation in
            let connection: Int32
            do {
                connection = try connect()
            } catch {
                return continuation.finish(throwing: error)
            }
            continuation.onTermination = { _ in shutdown(connection, CInt(SHUT_RDWR)) }
            Thread.detachNewThread {
                defer { close(connection) }
                guard AgentSocket.write(TransferRequest.follow, to: connection) else { return continuation.finish(throwing: NoAgent()) }
                var reader = AgentSocket.LineReader(connection)
                while let line = reader.next() {
                    if case .status(let status)? = try? JSONDecoder().decode(TransferAnswer.self, from: Data(line)) { continuation.yield(status) }
                }
                continuation.finish(throwing: NoAgent())
            }
        }
    }

    private func connect() throws -> Int32 {
        guard let connection = AgentSocket.connect(home.home) else { throw NoAgent() }
        return connection
    }
}
