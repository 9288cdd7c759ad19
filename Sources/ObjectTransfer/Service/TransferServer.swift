internal import CLinux
internal import Foundation
internal import Glibc
internal import Synchronization
package import SystemPackage
internal import UbiquityContainers

/// Answers requests to an agent on a Unix socket: a line of JSON for each line of JSON.
///
/// Only processes of the same user are answered, whatever the mode of the socket's directory is.
package final class TransferServer: Sendable {
    private let listener: Int32
    private let path: FilePath
    private let agent: TransferAgent
    private let connections = Mutex<Set<Int32>>([])

    /// Listens, in the place of a socket that a killed agent has left.
    ///
    /// - Parameters:
    ///   - path: where the socket is made. The caller holds the agent's lock.
    ///   - agent: answers the requests.
    /// - Throws: `Errno`.
    package init(_ path: FilePath, _ agent: TransferAgent) throws {
        (self.path, self.agent) = (path, agent)
        listener = try AgentSocket.make()
        do {
            _ = path.withPlatformString { unlink($0) }
            try AgentSocket.withShortPath(of: path) { clinux_unix_bind(listener, $0) }
            // Nobody can connect before it is private.
            _ = path.withPlatformString { chmod($0, 0o600) }
            guard listen(listener, 64) == 0 else { throw Errno(rawValue: errno) }
        } catch {
            close(listener)
            throw error
        }
        Thread.detachNewThread { [self] in acceptAll() }
    }

    /// Ends all connections, and removes the socket.
    package func stop() {
        shutdown(listener, CInt(SHUT_RDWR))
        _ = path.withPlatformString { unlink($0) }
        for connection in connections.withLock({ $0 }) { shutdown(connection, CInt(SHUT_RDWR)) }
    }

    private func acceptAll() {
        while true {
            let connection = accept(listener, nil, nil)
            if connection < 0 {
                if errno == EINTR || errno == ECONNABORTED { continue }
                if errno == EMFILE || errno == ENFILE {
                    // Descriptors come back as connections end.
                    usleep(100_000)
                    continue
                }
                close(listener)
                return
            }
            _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
            var limit = timeval(tv_sec: 10, tv_usec: 0)
            setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
            guard AgentSocket.user(of: connection) == geteuid() else {
                close(connection)
                continue
            }
            connections.withLock { _ = $0.insert(connection) }
            Thread.detachNewThread { [self] in
                serve(connection)
                connections.withLock { _ = $0.remove(connection) }
                close(connection)
            }
        }
    }

    private func serve(_ connection: Int32) {
        var reader = AgentSocket.LineReader(connection)
        while let line = reader.next() {
            guard let request = try? JSONDecoder().decode(TransferRequest.self, from: Data(line)) else {
                _ = write(.failed("This agent does not understand the request; is it another version?"), to: connection)
                return
            }
            if case .follow = request { return follow(connection) }
            let agent = agent
            guard write(Self.wait { await agent.answer(request) }, to: connection) else { return }
        }
    }

    /// Writes a status after each change, and at least each second while files are on their way.
    private func follow(_ connection: Int32) {
        let agent = agent
        Self.wait {
            let (news, teller) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
            await withTaskGroup(of: Void.self) { group in
                group.addTask { for await _ in await agent.follow() { teller.yield() } }
                group.addTask {
                    // Progress is told each second.
                    while (try? await Task.sleep(for: .seconds(1))) != nil {
                        guard case .status(let status) = await agent.answer(.status) else { return }
                        if !status.transfers.isEmpty { teller.yield() }
                    }
                }
                group.addTask {
                    for await _ in news {
                        guard case .status(let status) = await agent.answer(.status) else { return }
                        // A reader that reads nothing must hold up nobody else.
                        guard await (try? blocking { self.write(.status(status), to: connection) }) == true else { return }
                    }
                }
                group.addTask {
                    // The end of the connection is all that a follower may say.
                    await withCheckedContinuation { done in
                        Thread.detachNewThread {
                            var byte: UInt8 = 0
                            while recv(connection, &byte, 1, 0) > 0 {}
                            done.resume()
                        }
                    }
                }
                await group.next()
                shutdown(connection, CInt(SHUT_RDWR))
                group.cancelAll()
            }
        }
    }

    private func write(_ answer: TransferAnswer, to connection: Int32) -> Bool { AgentSocket.write(answer, to: connection) }

    /// Runs an asynchronous body, and blocks this thread, which belongs to one connection, until it ends.
    @discardableResult
    private static func wait<Result: Sendable>(_ body: @escaping @Sendable () async -> Result) -> Result {
        let box = AnswerBox<Result>()
        let done = DispatchSemaphore(value: 0)
        Task {
            let value = await body()
            box.value.withLock { $0 = value }
            done.signal()
        }
        done.wait()
        return box.value.withLock { $0! }
    }
}

/// The value that a task leaves for a thread.
private final class AnswerBox<Value: Sendable>: Sendable {
    let value = Mutex<Value?>(nil)
}
