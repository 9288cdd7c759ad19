internal import Foundation
internal import GRDB
internal import Logging
internal import StoreExchange
internal import SystemPackage
internal import TreeWatching
internal import UbiquityContainers

/// Reads an account's content into its file while the store uses another file.
///
/// It belongs to a ``StoreKeeper``, and runs on that actor.
final class AccountGathering {
    /// The account's file that is being filled.
    private(set) var opened: (account: AccountName, base: StoreBase)?
    /// The account whose file is still to be moved aside for a rebuild.
    private(set) var rebuilding: AccountName?
    /// The reason why the account's file was not moved aside although the options demand it.
    private(set) var refusal: (any Error)?
    private var reading: Task<Void, Never>?
    private var moving: Task<Void, Never>?
    private var rechecking: Task<Void, Never>?

    init(rebuilding: AccountName?) { self.rebuilding = rebuilding }

    /// Opens the file and the container of an account whose content has not been read.
    ///
    /// The container is created if it is new on this device.
    func base(of account: AccountName, by keeper: isolated StoreKeeper) async throws -> StoreBase {
        if let opened, opened.account == account { return opened.base }
        do {
            return try await open(account, by: keeper)
        } catch let error as ContainerError where error.code == .signedOut {
            // The account has signed out, of which the keeper need not have heard yet.
            throw CancellationError()
        }
    }

    private func open(_ account: AccountName, by keeper: isolated StoreKeeper) async throws -> StoreBase {
        let files = keeper.files
        let container = try await UbiquityContainer(files.identifier.description, home: files.home, files: files.context.files)
        guard container.account == account else { throw CancellationError() }
        for file in keeper.options.writtenFiles(at: files.path) { try StorePlace.check(file, in: container) }
        let base = try await files.withoutObservers.open(.account(account))
        // Another task may have opened the file in the meantime.
        if let opened, opened.account == account { return opened.base }
        guard keeper.life.gathering == account, !keeper.isStopped else { throw CancellationError() }
        opened = (account, base)
        return base
    }

    /// Opens the file of the signed-in account; returns nil if its content has been read, or nobody is signed in.
    func base(by keeper: isolated StoreKeeper) async throws -> StoreBase? {
        while let account = keeper.life.gathering, !keeper.isStopped {
            do {
                return try await base(of: account, by: keeper)
            } catch is CancellationError where !Task.isCancelled {
                await keeper.identify()
            }
        }
        return nil
    }

    /// Moves the account's file aside, if the app wants a rebuild and the content holds all of it; otherwise the file
    /// stays in use.
    func moveAside(by keeper: isolated StoreKeeper) async {
        guard let account = rebuilding, keeper.life.gathering == account, !keeper.isStopped else { return }
        if let moving { return await moving.value }
        let former = keeper.files.former(of: account)
        let task = Task {
            let refusal: (any Error)?
            do {
                try await former.moveAside()
                refusal = nil
            } catch {
                refusal = error
            }
            await keeper.endMovingAside(refusal)
        }
        moving = task
        await task.value
    }

    /// Notes that the account's file has been moved aside, or why it has not.
    func endMovingAside(_ refusal: (any Error)?) {
        if let refusal { self.refusal = refusal }
        (rebuilding, moving) = (nil, nil)
    }

    /// Releases a file that is being filled.
    func drop() {
        opened?.base.halt()
        opened = nil
    }

    /// Hands over a file that the store uses from now on.
    func release(_ base: StoreBase) { if opened?.base === base { opened = nil } }

    /// Begins to read the content of the signed-in account, unless it has been read.
    ///
    /// - Parameters:
    ///   - prepared: the file that the store is changing to.
    ///   - keeper: the keeper of the store.
    func beginIfNeeded(besides prepared: StoreBase?, by keeper: isolated StoreKeeper) {
        if let opened, opened.account != keeper.life.account, prepared !== opened.base { drop() }
        guard keeper.options.advanced.exchangesAutomatically, reading == nil, !keeper.isStopped, let account = keeper.life.gathering else { return }
        keeper.logger.info(
            "\(account): \(keeper.name): waiting until the content of other devices has been read",
            metadata: .facts([.event: "gathering", .account: account.description]))
        reading = Task { [weak keeper] in
            await keeper?.gather(account)
            await keeper?.endGathering()
        }
    }

    /// Notes that the task that reads has ended, and begins again if another account has signed in in the meantime.
    func end(by keeper: isolated StoreKeeper) {
        reading = nil
        if keeper.life.gathering != nil, !keeper.isStopped, opened?.account != keeper.life.account { keeper.gatherIfNeeded() }
    }

    /// Reads an account's content, and tries again until it can be read.
    func gather(_ account: AccountName, by keeper: isolated StoreKeeper) async {
        await moveAside(by: keeper)
        var pause = Duration.milliseconds(500)
        while keeper.life.gathering == account, !Task.isCancelled {
            do {
                let base = try await base(of: account, by: keeper)
                return try await base.run { [weak keeper, weak base] in
                    if let base { try? await keeper?.checkGathered(account, base) }
                }
            } catch is CancellationError {
                // Another caller has read the content in the meantime, or another account has signed in: no obstacle.
                guard !Task.isCancelled else { return }
                await keeper.identify()
            } catch {
                keeper.logger.warning(
                    "\(account): \(keeper.name): \(error)",
                    metadata: .facts([.event: "gatherFailed", .account: account.description, .error: "\(error)"]))
                keeper.failure = error
                guard (try? await Task.sleep(for: pause)) != nil else { return }
                pause = min(pause * 2, .seconds(60))
            }
        }
    }

    /// Notes that an account's content has been read, if it has.
    func check(_ account: AccountName, _ base: StoreBase, by keeper: isolated StoreKeeper) async throws {
        guard keeper.life.gathering == account else { return }
        do {
            guard try await base.runner.hasGathered() else { return checkLater(base) }
            try await StoreFiles.noteGathered(base)
        } catch {
            // The file may be busy, or a directory on the way.
            checkLater(base)
            throw error
        }
        keeper.logger.info(
            "\(account): \(keeper.name): the content of other devices has been read",
            metadata: .facts([.event: "gathered", .account: account.description]))
        keeper.learn { $0.gather(account) }
    }

    /// Checks again after a while: a damaged file counts as read then, and no event reports that time.
    private func checkLater(_ base: StoreBase) {
        rechecking?.cancel()
        rechecking = Task { [weak base] in
            if (try? await Task.sleep(for: .seconds(61))) != nil { base?.trigger?.wake() }
        }
    }

    /// Ends all tasks, without waiting for them: one may wait for a file system that does not respond.
    func cancel() {
        drop()
        for task in [reading, moving, rechecking] { task?.cancel() }
    }
}
