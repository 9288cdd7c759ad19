package import Foundation
internal import Glibc
internal import Synchronization
internal import SystemPackage

/// A request of an app to the transfer agent of its device, one line of JSON; a part of what an agent understands.
package enum ItemRequest: Sendable, Hashable, Codable {
    /// The states of items, by their paths below the account's containers.
    case states([String])
    /// Fetches documents; answered when they are here, or at once.
    case fetch([String], waits: Bool)
    /// Evicts a document; the asking process holds a coordinated write of it.
    case evict(String)
    /// Reads again which documents the device keeps.
    case downloadsChanged
    /// A status at once, and another after each change; the connection stays open.
    case follow
}

/// The answer of the agent, one line of JSON.
package enum ItemAnswer: Sendable, Hashable, Codable {
    /// The part of an agent's status that apps see.
    package struct Status: Sendable, Hashable, Codable {
        package var transfers: [Transfer]

        package init(transfers: [Transfer]) { self.transfers = transfers }
    }

    /// A file on its way.
    package struct Transfer: Sendable, Hashable, Codable {
        package var path: String
        package var direction: String
        package var done: Int64
        package var total: Int64
        package var began: Date

        package init(path: String, direction: String, done: Int64, total: Int64, began: Date) {
            (self.path, self.direction, self.done, self.total, self.began) = (path, direction, done, total, began)
        }
    }

    case status(Status)
    case done
    case states([String: TransferItemState])
    case failed(String)
}

/// Asks the transfer agent of a device home about items.
package struct ItemAgent: Sendable {
    package let home: DeviceHome

    package init(_ home: DeviceHome) { self.home = home }

    /// Why an item cannot be fetched or evicted, in words.
    package struct Refusal: Error, Hashable, Sendable, CustomStringConvertible {
        package var description: String
        /// Whether no agent answers.
        package var isWithoutAgent = false

        static let noAgent = Refusal(
            description:
                "no transfer agent runs for this device home; start it with: systemctl --user start ubtransfer, or run ubtransfer in a terminal",
            isWithoutAgent: true)
    }

    /// Asks, and returns the answer.
    ///
    /// - Returns: the answer; never `failed`.
    /// - Throws: ``Refusal``; `CancellationError`: the connection is closed then, and the agent goes on by itself.
    package func ask(_ request: ItemRequest) async throws -> ItemAnswer {
        let connection = try await blocking {
            guard let connection = AgentSocket.connect(home) else { throw Refusal.noAgent }
            return AgentConnection(connection)
        }
        return try await withTaskCancellationHandler {
            do {
                // A thread of its own: a download can take hours, and the threads of a queue are few.
                return try await withCheckedThrowingContinuation { continuation in
                    Thread.detachNewThread { continuation.resume(with: Result { try Self.answer(to: request, connection) }) }
                }
            } catch {
                try Task.checkCancellation()
                throw error
            }
        } onCancel: {
            connection.end()
        }
    }

    /// Asks, and returns the answer; blocks.
    ///
    /// - Throws: ``Refusal``.
    package func askBlocking(_ request: ItemRequest) throws -> ItemAnswer {
        guard let connection = AgentSocket.connect(home) else { throw Refusal.noAgent }
        return try Self.answer(to: request, AgentConnection(connection))
    }

    private static func answer(to request: ItemRequest, _ connection: AgentConnection) throws -> ItemAnswer {
        defer { connection.close() }
        guard AgentSocket.write(request, to: connection.descriptor) else { throw Refusal.noAgent }
        var reader = AgentSocket.LineReader(connection.descriptor)
        guard let line = reader.next() else { throw Refusal.noAgent }
        guard let answer = try? JSONDecoder().decode(ItemAnswer.self, from: Data(line)) else {
            throw Refusal(description: "the transfer agent answers in another way than expected; is it another version?")
        }
        if case .failed(let reason) = answer { throw Refusal(description: reason) }
        return answer
    }

    /// The files on their way, now and after each change, until the reader's task ends; the stream waits for an agent.
    package func transfers() -> AsyncStream<[ItemAnswer.Transfer]> {
        let home = home
        return AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let task = Task {
                var last: [ItemAnswer.Transfer]?
                func tell(_ transfers: [ItemAnswer.Transfer]) {
                    if transfers != last { continuation.yield(transfers) }
                    last = transfers
                }
                while !Task.isCancelled {
                    for await status in Self.statuses(home) { tell(status.transfers) }
                    tell([])
                    // An agent that has ended may be started again.
                    try? await Task.sleep(for: .seconds(2))
                }
                continuation.finish()
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }

    private static func statuses(_ home: DeviceHome) -> AsyncStream<ItemAnswer.Status> {
        AsyncStream { continuation in
            guard let descriptor = AgentSocket.connect(home) else { return continuation.finish() }
            let connection = AgentConnection(descriptor)
            continuation.onTermination = { _ in connection.end() }
            Thread.detachNewThread {
                defer { connection.close() }
                guard AgentSocket.write(ItemRequest.follow, to: connection.descriptor) else { return continuation.finish() }
                var reader = AgentSocket.LineReader(connection.descriptor)
                while let line = reader.next() {
                    if case .status(let status)? = try? JSONDecoder().decode(ItemAnswer.self, from: Data(line)) { continuation.yield(status) }
                }
                continuation.finish()
            }
        }
    }
}

/// A connection that another thread can end while one reads from it.
private final class AgentConnection: Sendable {
    let descriptor: Int32
    private let isOpen = Mutex(true)

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    /// Ends the reading; the descriptor stays open.
    func end() { isOpen.withLock { if $0 { shutdown(descriptor, CInt(SHUT_RDWR)) } } }

    func close() {
        isOpen.withLock { isOpen in
            if isOpen { Glibc.close(descriptor) }
            isOpen = false
        }
    }
}
