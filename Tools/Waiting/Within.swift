internal import Synchronization

/// The usual limit of a wait, in quiet time.
///
/// A wait in a test takes milliseconds; this is long enough for a debug build, and short enough that a run with one
/// hanging test ends.
package let usualLimit = Duration.seconds(60)

/// Awaits an operation with a limit, and reports the observations if the limit passes.
///
/// **Every wait in a test has a limit.** Choose the helper by what you wait for:
///
/// | you wait for | write |
/// |---|---|
/// | the next elements of a stream | `var notices = store.notices.limited("notices").makeAsyncIterator()`, then `try await notices.next()` |
/// | an element among others | `for try await line in tool.lines.limited("lines") where line == "ready" { break }` |
/// | a call, a task or a continuation | `try await within("the gate") { await gate.wait() }` |
/// | another program, which cannot notify the test | `try await until("the socket is there") { exists(socket) }` |
///
/// `Tool` and `RunningTool` give a program a limit: the program is killed at the limit, and its `end()` throws
/// ``Overdue``.
///
/// The limit is in ``QuietTime``. Never raise a limit because a machine is busy; use a longer limit only if the work
/// itself takes longer.
///
/// - Parameters:
///   - what: the awaited thing, as the object of "has waited for".
///   - limit: the limit, in quiet time.
///   - seen: called at the limit; returns the observations.
///   - file: the file of the wait.
///   - line: the line of the wait.
///   - body: cancelled at the limit. If it ignores the cancellation, it is abandoned.
/// - Returns: the result of the body.
/// - Throws: ``Overdue`` at the limit, and the error of the body.
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

/// Waits for another program that cannot notify the test: polls a condition.
///
/// - Parameters:
///   - what: the condition in words, such as "the socket is there".
///   - limit: the limit, in quiet time.
///   - seen: called at the limit; returns the observations.
///   - file: the file of the wait.
///   - line: the line of the wait.
///   - condition: called every 50 ms.
/// - Throws: ``Overdue`` at the limit, and the error of the condition.
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
