internal import Foundation
internal import GRDB
internal import Logging
internal import StoreExchange
internal import SystemPackage
internal import UbiquityContainers

/// Reading an account's content behind the fallback file.
extension StoreKeeper {
    /// Opens the file of an account whose content has not been read, and its container, which is made where this device has never seen it.
    func gatheringBase(of account: AccountName) async throws -> StoreBase {
        if let gathered, gathered.account == account { return gathered.base }
        let container = try await UbiquityContainer(files.identifier.description, home: files.home, files: files.context.files)
        guard container.account == account else { throw CancellationError() }
        for file in options.writtenFiles(at: files.path) { try StorePlace.check(file, in: container) }
        let base = try await files.muted.open(.account(account))
        // Somebody may have been faster meanwhile.
        if let gathered, gathered.account == account { return gathered.base }
        guard life.gathering == account, !isStopped else { throw CancellationError() }
        gathered = (account, base)
        return base
    }

    /// The same for the account that is signed in; nil where its content has been read, or nobody is.
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

    /// Puts the account's file out of the way, where the app wants it made anew and the content holds all of it; else it is used as it is.
    func makeAnew() async {
        guard let account = rebuilding, life.gathering == account, !isStopped else { return }
        if let makingAnew { return await makingAnew.value }
        let task = Task {
            do {
                try await files.setFormer(account)
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

    /// Lets go of a file that is being filled.
    func dropGathered() {
        gathered?.base.halt()
        gathered = nil
    }

    func gatherIfNeeded() {
        if let gathered, gathered.account != life.account, prepared !== gathered.base { dropGathered() }
        guard options.exchangesAutomatically, gathering == nil, !isStopped, let account = life.gathering else { return }
        logger.info("\(account): \(files.path.lastComponent!.string): waiting until what other devices have written is read")
        gathering = Task { [weak self] in
            await self?.gather(account)
            await self?.endGathering()
        }
    }

    private func endGathering() {
        gathering = nil
        // Another account may have come meanwhile.
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
        guard try await base.engine.hasGathered() else {
            // A file that is damaged counts once it has been so for a while, and nothing tells when.
            rechecking?.cancel()
            rechecking = Task { [weak base] in
                if (try? await Task.sleep(for: .seconds(61))) != nil { base?.runner?.wake() }
            }
            return
        }
        try await StoreFiles.noteGathered(base)
        logger.info("\(account): \(files.path.lastComponent!.string): what other devices have written is read")
        learn { $0.gather(account) }
    }
}
