internal import Logging
internal import StoreExchange
internal import SystemPackage
internal import UbiquityContainers

/// Removes files that the store has left.
extension StoreKeeper {
    /// Removes the file that the store has left, if its account is gone and the app wants that.
    func eraseIfGone(_ passage: StoreLife.Passage, _ base: StoreBase) {
        guard options.advanced.removesFilesOfGoneAccounts, case .account(let account) = passage.from else { return }
        // If the account returns, its content must be read again.
        life.scatter(account)
        erase { files, isStopped in try await files.eraseGone(account, base, unless: isStopped) }
    }

    /// Erases in the background: a container's file system may not respond.
    func erase(_ body: @escaping @Sendable (StoreFiles, @Sendable () async -> Bool) async throws -> Void) {
        erasing = Task { [weak self, files, logger, erasing] in
            await erasing?.value
            do {
                try await body(files) { [weak self] in await self?.isStopped ?? true }
            } catch {
                logger.error("\(files.path.lastComponent!.string): \(error)")
            }
        }
    }

    /// Returns when no erasure runs.
    func erased() async { await erasing?.value }
}
