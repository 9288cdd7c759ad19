import FileCoordination
import Foundation
import UbiquityContainers

/// Takes part in coordination for a presenter of Cocoa's kind: passes each message on to it, on its queue, and waits for its answer.
///
/// Each method of the presenter is one operation of its `presentedItemOperationQueue`. Accesses inside the operation belong to the
/// presenter's answer. A presenter that has been released agrees to everything.
final class PresenterAdapter: FilePresenter, @unchecked Sendable {
    // Both are constants. The runtime guards the weak reference. The presenter's methods are called on its queue only, except the getters,
    // for which Cocoa requires that any thread may call them.
    weak let client: (any NSFilePresenter)?
    let key: ObjectIdentifier

    init(_ client: any NSFilePresenter) {
        self.client = client
        key = ObjectIdentifier(client)
    }

    var presentedItemURL: URL? { client?.presentedItemURL }

    var observedPresentedItemUbiquityAttributes: Set<UbiquityAttribute> {
        Set((client?.observedPresentedItemUbiquityAttributes ?? []).map { UbiquityAttribute(rawValue: $0.rawValue) })
    }

    // MARK: Questions

    func relinquishPresentedItemToReader() async -> Reacquirer? {
        await relinquish { $0.relinquishPresentedItem(toReader: $1) }
    }

    func relinquishPresentedItemToWriter() async -> Reacquirer? {
        await relinquish { $0.relinquishPresentedItem(toWriter: $1) }
    }

    func savePresentedItemChanges() async throws {
        try await request { $0.savePresentedItemChanges(completionHandler: $1) }
    }

    func accommodatePresentedItemDeletion() async throws {
        try await request { $0.accommodatePresentedItemDeletion(completionHandler: $1) }
    }

    func accommodatePresentedSubitemDeletion(at url: URL) async throws {
        try await request { $0.accommodatePresentedSubitemDeletion(at: url, completionHandler: $1) }
    }

    func accommodatePresentedItemEviction() async throws {
        try await request { $0.accommodatePresentedItemEviction(completionHandler: $1) }
    }

    // MARK: Notices

    func presentedItemDidMove(to newURL: URL) async { await tell { $0.presentedItemDidMove(to: newURL) } }
    func presentedItemDidChange() async { await tell { $0.presentedItemDidChange() } }
    func presentedItemDidDisappear() async { await tell { $0.presentedItemDidDisappear() } }

    func presentedItemDidChangeUbiquityAttributes(_ attributes: Set<UbiquityAttribute>) async {
        let keys = Set(attributes.map { URLResourceKey(rawValue: $0.rawValue) })
        await tell { $0.presentedItemDidChangeUbiquityAttributes(keys) }
    }

    func presentedSubitemDidAppear(at url: URL) async { await tell { $0.presentedSubitemDidAppear(at: url) } }
    func presentedSubitem(at oldURL: URL, didMoveTo newURL: URL) async { await tell { $0.presentedSubitem(at: oldURL, didMoveTo: newURL) } }
    func presentedSubitemDidChange(at url: URL) async { await tell { $0.presentedSubitemDidChange(at: url) } }

    // MARK: Versions

    func presentedItemDidGain(_ version: FileVersionIdentifier) async {
        await tell(version, of: presentedItemURL) { $0.presentedItemDidGain($1) }
    }

    func presentedItemDidLose(_ version: FileVersionIdentifier) async {
        await tell(version, of: presentedItemURL, isLost: true) { $0.presentedItemDidLose($1) }
    }

    func presentedItemDidResolveConflict(_ version: FileVersionIdentifier) async {
        await tell(version, of: presentedItemURL) { $0.presentedItemDidResolveConflict($1) }
    }

    func presentedSubitem(at url: URL, didGain version: FileVersionIdentifier) async {
        await tell(version, of: url) { $0.presentedSubitem(at: url, didGain: $1) }
    }

    func presentedSubitem(at url: URL, didLose version: FileVersionIdentifier) async {
        await tell(version, of: url, isLost: true) { $0.presentedSubitem(at: url, didLose: $1) }
    }

    func presentedSubitem(at url: URL, didResolve version: FileVersionIdentifier) async {
        await tell(version, of: url) { $0.presentedSubitem(at: url, didResolve: $1) }
    }

    /// Passes a notice of a version on; a version that has gone meanwhile is described by its identifier.
    private func tell(
        _ identifier: FileVersionIdentifier, of url: URL?, isLost: Bool = false,
        _ notice: @escaping @Sendable (any NSFilePresenter, NSFileVersion) -> Void
    ) async {
        guard let url else { return }
        let found = isLost ? nil : (try? await FileVersion.version(ofItemAt: url, forPersistentIdentifier: identifier)) ?? nil
        guard let version = found ?? FileVersion.lost(identifier, ofItemAt: url) else { return }
        await tell { notice($0, NSFileVersion(version)) }
    }

    // MARK: The presenter's queue

    /// What a presenter has given to a reader or writer; called once, on the presenter's queue.
    private struct Reacquiring: @unchecked Sendable {
        let block: () -> Void
    }

    private func relinquish(
        _ question: @escaping @Sendable (any NSFilePresenter, @escaping @Sendable ((() -> Void)?) -> Void) -> Void
    ) async -> Reacquirer? {
        let answer: Reacquiring? = await ask(otherwise: nil) { presenter, answer in
            question(presenter) { answer.give($0.map { Reacquiring(block: $0) }) }
        }
        guard let answer else { return nil }
        return { await self.tell { _ in answer.block() } }
    }

    private func request(
        _ question: @escaping @Sendable (any NSFilePresenter, @escaping @Sendable ((any Error)?) -> Void) -> Void
    ) async throws {
        let refusal: (any Error)? = await ask(otherwise: nil) { presenter, answer in question(presenter) { answer.give($0) } }
        if let refusal { throw refusal }
    }

    private func tell(_ notice: @escaping @Sendable (any NSFilePresenter) -> Void) async {
        await ask(otherwise: ()) { presenter, answer in
            notice(presenter)
            answer.give(())
        }
    }

    /// Runs a block on the presenter's queue, and returns when an answer has been given, in the block or later.
    private func ask<Value: Sendable>(
        otherwise absent: Value, _ block: @escaping @Sendable (any NSFilePresenter, PresenterAnswer<Value>) -> Void
    ) async -> Value {
        guard let queue = client?.presentedItemOperationQueue else {
            leave()
            return absent
        }
        return await withUnsafeContinuation { continuation in
            let answer = PresenterAnswer(continuation)
            // Called once, by the queue.
            nonisolated(unsafe) let work = FileCoordinator.carryingContext { [self] in
                if let client { return block(client, answer) }
                leave()
                answer.give(absent)
            }
            // The work throws nothing.
            queue.addOperation(QueueOperation { try? work() })
        }
    }

    private func leave() { PresenterAdapters.removeReleased() }
}
