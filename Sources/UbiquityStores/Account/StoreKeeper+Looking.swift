internal import Foundation
internal import Logging
internal import StoreExchange
internal import SystemPackage
internal import UbiquityContainers

/// Determines the signed-in account, and continues after an obstacle.
extension StoreKeeper {
    /// Reads the signed-in account now, and whenever it may have changed.
    func watch() {
        watching = Task { [weak self, home = files.home] in
            var pause = Duration.seconds(1)
            while !Task.isCancelled {
                do {
                    for await _ in try home.identityChanges {
                        guard let self else { return }
                        await self.noteWatching(nil)
                        await self.identify()
                    }
                    return
                } catch {
                    await self?.noteWatching(error)
                    await self?.identify()
                }
                guard (try? await Task.sleep(for: pause)) != nil else { return }
                pause = min(pause * 2, .seconds(60))
            }
        }
    }

    private func noteWatching(_ error: (any Error)?) {
        if let error, unwatched == nil { logger.error("\(name): \(error)") }
        unwatched = error
    }

    /// Reads the signed-in account, and whether another process has read that account's content.
    ///
    /// If this call finds an account before ``watch()`` does, the device home still notifies ``watch()``, which calls
    /// this method again for later changes.
    func identify() async {
        do {
            let account = try files.home.account
            await files.moments?(.looked)
            if let account, account != gathering.rebuilding, !life.gathered.contains(account), try await files.isGathered(account),
                try !files.former(of: account).exists
            {
                learn { $0.gather(account) }
            }
            // The account may have changed in the meantime.
            let now = try files.home.account
            learn { $0.identify(now) }
            if life.isAtRest { failure = nil }
        } catch {
            note(error)
        }
    }

    /// Notes an obstacle, and tries again later; a home that cannot be read sends no notification.
    private func note(_ error: any Error) {
        failure = error
        logger.error("\(name): \(error)")
        retryLater()
    }

    /// Restarts an exchange that was halted for an account that has returned.
    func resume() {
        guard options.advanced.exchangesAutomatically, !isStopped, life.step == nil, life.place.account == life.account, let base = store?.current,
            base.isHalted
        else { return }
        Task { [weak self] in
            do { try await base.run() } catch { await self?.note(error) }
        }
    }

    /// Reads the account and tries again later; callers of `settled()` do not wait for that.
    func retryLater() {
        guard options.advanced.exchangesAutomatically, retrying == nil, !isStopped else { return }
        retrying = Task { [weak self] in
            guard (try? await Task.sleep(for: .seconds(5))) != nil else { return }
            await self?.retry()
        }
    }

    private func retry() async {
        retrying = nil
        await identify()
        learn { $0.retry() }
    }
}
