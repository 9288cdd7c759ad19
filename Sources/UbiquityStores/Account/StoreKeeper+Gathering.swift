internal import Foundation
internal import GRDB
internal import Logging
internal import StoreExchange
internal import SystemPackage
internal import UbiquityContainers

/// Reads an account's content while the fallback file is in use.
extension StoreKeeper {
    /// Opens the file and the container of an account whose content has not been read.
    ///
    /// The container is created if it is new on this device.
    func gatheringBase(of account: AccountName) async throws -> StoreBase {
        if let gathered, gathered.account == account { return gathered.base }
        let container = try await UbiquityContainer(files.identifier.description, home: files.home, files: files.context.files)
        guard container.account == account else { throw CancellationError() }
        for file in options.writtenFiles(at: files.path) { try StorePlace.check(file, in: container) }
        let base = try await files.withoutObservers.open(.account(account))
        // Another task may have opened the file in the meantime.
        if let gathered, gathered.account == account { return gathered.base }
        guard life.gathering == account, !isStopped else { throw CancellationError() }
        gathered = (account, base)
        return base
    }

    /// Opens the file of the signed-in account; returns nil if its content has been read, or nobody is signed in.
    func gatheringBase() async throws -> StoreBase? {
        while let account = life.gathering, !isStopped {
            do {
                return try await gatheringBase(of: account)
            } catch is CancellationError where !Task.isCancelled {
                await identify()
            }
        }
        return nil
    }

    /// Moves the account's file aside, if the app wants a rebuild and the content holds all of it; otherwise the file
    /// stays in use.
    func makeAnew() async {
        guard let account = rebuilding, life.gathering == account, !isStopped else { return }
        if let makingAnew { return await makingAnew.value }
        let task = Task {
            do {
                try await files.moveAside(account)
            } catch {
                refusal = error
                logger.error("\(files.path.lastComponent!.string): \(error)")
            }
            (rebuilding, makingAnew) = (nil, nil)
            await identify()
        }
        makingAnew = task
        await task.value
    }

    /// Releases a file that is being filled.
    func dropGathered() {
        gathered?.base.halt()
        gathered = nil
    }

    func gatherIfNeeded() {
        if let gathered, gathered.account != life.account, prepared !== gathered.base { dropGathered() }
        guard options.exchangesAutomatically, gathering == nil, !isStopped, let account = life.gathering else { return }
        logger.info("\(account): \(files.path.lastComponent!.string): waiting until the content of other devices has been read")
        gathering = Task { [weak self] in
            await self?.gather(account)
            await self?.endGathering()
        }
    }

    private func endGathering() {
        gathering = nil
        // Another account may have signed in in the meantime.
        if life.gathering != nil, !isStopped, gathered?.account != life.account { gatherIfNeeded() }
    }

    private func gather(_ account: AccountName) async {
        await makeAnew()
        var pause = Duration.milliseconds(500)
        while life.gathering == account, !Task.isCancelled {
            do {
                let base = try await gatheringBase(of: account)
                return try await base.run { [weak self, weak base] in
                    if let base { try? await self?.checkGathered(account, base) }
                }
            } catch {
                logger.warning("\(account): \(files.path.lastComponent!.string): \(error)")
                failure = error
                guard (try? await Task.sleep(for: pause)) != nil else { return }
                pause = min(pause * 2, .seconds(60))
            }
        }
    }

    func checkGathered(_ account: AccountName, _ base: StoreBase) async throws {
        guard life.gathering == account else { return }
        guard try await base.runner.hasGathered() else {
            // A damaged file counts as read after a while, and no event reports that time.
            rechecking?.cancel()
            rechecking = Task { [weak base] in
                if (try? await Task.sleep(for: .seconds(61))) != nil { base?.trigger?.wake() }
            }
            return
        }
        try await StoreFiles.noteGathered(base)
        logger.info("\(account): \(files.path.lastComponent!.string): the content of other devices has been read")
        learn { $0.gather(account) }
    }
}
