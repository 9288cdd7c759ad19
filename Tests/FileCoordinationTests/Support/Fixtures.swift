import Foundation
import Synchronization
import SystemPackage
import Testing
import UbiquityTesting
import Waiting

@testable import FileCoordination

/// Runs a test in a directory of its own, with an arbiter and presenters of its own.
func withWorld(watchesFiles: Bool = false, _ body: (World) async throws -> Void) async throws {
    let directory = FileManager.default.temporaryDirectory.appending(path: "coordination-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    try await body(World(directory: directory.resolvingSymlinksInPath(), watchesFiles: watchesFiles))
}

/// A directory, and a client whose every event can be awaited.
final class World: Sendable {
    let directory: URL
    let client: CoordinationClient
    let clock = StillClock()
    private let events = EventLog()

    init(directory: URL, watchesFiles: Bool) {
        self.directory = directory
        client = CoordinationClient(clock: clock, watchesFiles: watchesFiles) { [events] event, actions in events.add(event, actions) }
    }

    func coordinator(for presenter: (any FilePresenter)? = nil) -> FileCoordinator {
        FileCoordinator(filePresenter: presenter, client: client)
    }

    func url(_ name: String) -> URL { directory.appending(path: name, directoryHint: .notDirectory) }

    @discardableResult func file(_ name: String, _ text: String = "") throws -> URL {
        let url = url(name)
        try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: url)
        return url
    }

    /// Returns once so many claims wait, in whatever state.
    func waiting(_ count: Int, file: String = #fileID, line: Int = #line) async {
        await until(file: file, line: line) { $0.claims.count { $0.state != .held } == count }
    }

    /// Returns once a condition holds that can change with events only.
    func until(file: String = #fileID, line: Int = #line, _ condition: @escaping @Sendable (CoordinationSnapshot) -> Bool) async {
        await awaited("the claims", seen: { [client] in "\(client.snapshot().claims)" }, file: file, line: line) { [client, events] in
            await events.wait { condition(client.snapshot()) }
        }
    }
}

/// Awaits something that may never come.
///
/// Where it does not, that is recorded, and the test goes on.
func awaited(
    _ what: String, seen: @escaping @Sendable () -> String = { "" }, file: String, line: Int, _ body: @escaping @Sendable () async -> Void
) async {
    do { try await within(what, seen: seen, file: file, line: line) { await body() } } catch { Issue.record(error) }
}

/// Wakes those who wait for a condition after each event.
private final class EventLog: Sendable {
    private let waiters = Mutex<[UInt64: CheckedContinuation<Void, Never>]>([:])
    private let count = Mutex<UInt64>(0)

    func add(_: ArbiterEvent?, _: [ArbiterAction]) {
        count.withLock { $0 += 1 }
        let ready = waiters.withLock { waiters in
            defer { waiters = [:] }
            return Array(waiters.values)
        }
        for waiter in ready { waiter.resume() }
    }

    func wait(_ condition: @Sendable () -> Bool) async {
        while true {
            let seen = count.withLock { $0 }
            if condition() { return }
            await withCheckedContinuation { continuation in
                let isStale = waiters.withLock { waiters in
                    guard count.withLock({ $0 }) == seen else { return true }
                    waiters[UInt64(waiters.count)] = continuation
                    return false
                }
                if isStale { continuation.resume() }
            }
        }
    }
}

/// Opens once; who comes before waits.
final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var waiters: [CheckedContinuation<Void, Never>] = []
    }
    private let state = Mutex(State())

    func open() {
        let waiters = state.withLock { state in
            state.isOpen = true
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    func wait(file: String = #fileID, line: Int = #line) async {
        await awaited("a gate", file: file, line: line) { [self] in
            await withCheckedContinuation { continuation in
                let isOpen = state.withLock { state in
                    if !state.isOpen { state.waiters.append(continuation) }
                    return state.isOpen
                }
                if isOpen { continuation.resume() }
            }
        }
    }
}

/// A presenter that notes what it is told, and does what the test says.
final class RecordingPresenter: FilePresenter {
    typealias Handler = @Sendable (String) async throws -> Void

    private struct State {
        var url: URL?
        var log: [String] = []
        var watchers: [(isEnough: @Sendable ([String]) -> Bool, continuation: CheckedContinuation<Void, Never>)] = []
    }
    private let state: Mutex<State>
    private let handler: Handler
    let observedPresentedItemUbiquityAttributes: Set<UbiquityAttribute>

    init(_ url: URL?, observing attributes: Set<UbiquityAttribute> = UbiquityAttribute.all, _ handler: @escaping Handler = { _ in }) {
        state = Mutex(State(url: url))
        observedPresentedItemUbiquityAttributes = attributes
        self.handler = handler
    }

    var presentedItemURL: URL? {
        get { state.withLock { $0.url } }
        set { state.withLock { $0.url = newValue } }
    }

    /// What it was told, in order.
    var log: [String] { state.withLock { $0.log } }

    /// Returns once it was told so many things.
    func told(_ count: Int, file: String = #fileID, line: Int = #line) async -> [String] {
        await told("\(count) messages to a presenter", file: file, line: line) { $0.count >= count }
    }

    /// Returns once it was told this.
    @discardableResult func told(_ message: String, file: String = #fileID, line: Int = #line) async -> [String] {
        await told("“\(message)” to a presenter", file: file, line: line) { $0.contains(message) }
    }

    /// Returns once what it was told is enough.
    @discardableResult func told(
        _ what: String = "what a presenter is told", file: String = #fileID, line: Int = #line, _ isEnough: @escaping @Sendable ([String]) -> Bool
    ) async -> [String] {
        await awaited(what, seen: { [self] in "\(log)" }, file: file, line: line) { [self] in
            await withCheckedContinuation { continuation in
                // Looked at and waited for under one lock, so that nothing comes in between.
                let isThere = state.withLock { state in
                    if isEnough(state.log) { return true }
                    state.watchers.append((isEnough, continuation))
                    return false
                }
                if isThere { continuation.resume() }
            }
        }
        return log
    }

    func note(_ message: String) {
        let ready = state.withLock { state in
            state.log.append(message)
            let log = state.log
            let ready = state.watchers.filter { $0.isEnough(log) }
            state.watchers.removeAll { $0.isEnough(log) }
            return ready
        }
        for watcher in ready { watcher.continuation.resume() }
    }

    private func told(_ message: String) async throws {
        note(message)
        try await handler(message)
    }

    func relinquishPresentedItemToReader() async -> Reacquirer? {
        try? await told("relinquishToReader")
        return { [self] in try? await told("reacquire") }
    }
    func relinquishPresentedItemToWriter() async -> Reacquirer? {
        try? await told("relinquishToWriter")
        return { [self] in try? await told("reacquire") }
    }
    func savePresentedItemChanges() async throws { try await told("save") }
    func accommodatePresentedItemDeletion() async throws { try await told("accommodateDeletion") }
    func accommodatePresentedSubitemDeletion(at url: URL) async throws { try await told("accommodateSubitemDeletion \(url.lastPathComponent)") }
    func presentedItemDidMove(to newURL: URL) async {
        state.withLock { $0.url = newURL }
        try? await told("didMove \(newURL.lastPathComponent)")
    }
    func presentedItemDidChange() async { try? await told("didChange") }
    func presentedItemDidDisappear() async { try? await told("didDisappear") }
    func presentedItemDidChangeUbiquityAttributes(_ attributes: Set<UbiquityAttribute>) async {
        try? await told("attributes \(attributes.map(\.rawValue).sorted().joined(separator: " "))")
    }
    func presentedItemDidGain(_ version: FileVersionIdentifier) async { try? await told("gained \(version.rawValue)") }
    func presentedItemDidLose(_ version: FileVersionIdentifier) async { try? await told("lost \(version.rawValue)") }
    func presentedItemDidResolveConflict(_ version: FileVersionIdentifier) async { try? await told("resolved \(version.rawValue)") }
    func presentedSubitemDidAppear(at url: URL) async { try? await told("subitemDidAppear \(url.lastPathComponent)") }
    func presentedSubitem(at oldURL: URL, didMoveTo newURL: URL) async {
        try? await told("subitemDidMove \(oldURL.lastPathComponent) \(newURL.lastPathComponent)")
    }
    func presentedSubitemDidChange(at url: URL) async { try? await told("subitemDidChange \(url.lastPathComponent)") }
    func presentedSubitem(at url: URL, didGain version: FileVersionIdentifier) async {
        try? await told("subitem \(url.lastPathComponent) gained \(version.rawValue)")
    }
    func presentedSubitem(at url: URL, didLose version: FileVersionIdentifier) async {
        try? await told("subitem \(url.lastPathComponent) lost \(version.rawValue)")
    }
    func presentedSubitem(at url: URL, didResolve version: FileVersionIdentifier) async {
        try? await told("subitem \(url.lastPathComponent) resolved \(version.rawValue)")
    }
}
