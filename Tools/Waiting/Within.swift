internal import Synchronization

/// The limit of a wait that has no reason for another, in quiet time.
///
/// A wait in a test takes milliseconds; this is long enough for a debug build, and short enough that a run with one hanging test ends.
package let usualLimit = Duration.seconds(60)

/// Awaits something that may never come, and says what came instead.
///
/// **Every wait in a test has a limit.** Choose the helper by what you wait for:
///
/// | you wait for | write |
/// |---|---|
/// | the next elements of a stream | `var notices = store.notices.limited("notices").makeAsyncIterator()`, then `try await notices.next()` |
/// | an element among others | `for try await line in tool.lines.limited("lines") where line == "ready" { break }` |
/// | a call, a task or a continuation | `try await within("the gate") { await gate.wait() }` |
/// | another program, which tells nobody | `try await until("the socket is there") { exists(socket) }` |
///
/// A program that a test starts with `Tool` or `RunningTool` has a limit by itself: it is killed there, and its `end()` throws ``Overdue``.
///
/// The limit is in ``QuietTime``. Never write a limit of your own to make a busy machine pass; write a longer one only where the work itself takes longer.
///
/// - Parameters:
///   - what: what is waited for, as the object of "has waited for".
///   - limit: how long, in quiet time.
///   - seen: is asked at the limit what has been seen.
///   - file: where it is waited for.
///   - line: where it is waited for.
///   - body: is cancelled at the limit. If it does not heed that, it is left behind.
/// - Returns: what the body returns.
/// - Throws: ``Overdue`` at the limit, and what the body throws.
package func within<Value: Sendable>(
    _ what: String, limit: Duration = usualLimit, seen: @escaping @Sendable () -> String = { "" }, file: String = #fileID, line: Int = #line,
    _ body: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    let race = Race<Value>()
    let task = Task {
        do { race.end(.success(try await body())) } catch { race.end(.failure(error)) }
    }
    let timer = Task {
        guard let time = try? await QuietTime.sleep(limit) else { return }
        race.end(.failure(Overdue(what, limit: limit, time: time, seen: seen(), place: "\(file):\(line)")))
        task.cancel()
    }
    defer { timer.cancel() }
    return try await withTaskCancellationHandler {
        try await race.value
    } onCancel: {
        task.cancel()
    }
}

/// Waits for what another program does, which tells nobody: asks again and again.
///
/// - Parameters:
///   - what: what is to become true, such as "the socket is there".
///   - limit: how long, in quiet time.
///   - seen: is asked at the limit what has been seen.
///   - file: where it is waited for.
///   - line: where it is waited for.
///   - condition: is asked every 50 ms.
/// - Throws: ``Overdue`` at the limit, and what the condition throws.
package func until(
    _ what: String, limit: Duration = usualLimit, seen: () async throws -> String = { "" }, file: String = #fileID, line: Int = #line,
    _ condition: () async throws -> Bool
) async throws {
    let clock = SuspendingClock()
    var (time, last) = (QuietTime(), clock.now)
    while try await !condition() {
        guard !time.isOver(limit) else { throw Overdue("that \(what)", limit: limit, time: time, seen: try await seen(), place: "\(file):\(line)") }
        try await clock.sleep(for: .milliseconds(50))
        let now = clock.now
        time.count(last.duration(to: now), load: QuietTime.machineLoad())
        last = now
    }
}

/// The first of several results.
private final class Race<Value: Sendable>: Sendable {
    private struct State {
        var result: Result<Value, any Error>?
        var waiter: CheckedContinuation<Value, any Error>?
    }
    private let state = Mutex(State())

    func end(_ result: Result<Value, any Error>) {
        let waiter = state.withLock { state -> CheckedContinuation<Value, any Error>? in
            guard state.result == nil else { return nil }
            state.result = result
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(with: result)
    }

    var value: Value {
        get async throws {
            try await withCheckedThrowingContinuation { continuation in
                let result = state.withLock { state in
                    if state.result == nil { state.waiter = continuation }
                    return state.result
                }
                if let result { continuation.resume(with: result) }
            }
        }
    }
}
