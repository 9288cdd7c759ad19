internal import Foundation
internal import Logging
internal import StoreExchange
internal import SystemPackage
internal import UbiquityContainers

/// Looking who is signed in, and going on where that, or something else, stood in the way.
extension StoreKeeper {
    /// Looks who is signed in now, and whenever that may be another.
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
        if let error, unwatched == nil { logger.error("\(files.path.lastComponent!.string): \(error)") }
        unwatched = error
    }

    /// Looks who is signed in, and whether another process has read that account's content.
    ///
    /// If an account is read here that nobody has been told of, the home tells ``watch()``: what comes after it is looked at here again.
    func identify() async {
        do {
            let account = try files.home.account
            await files.moments?(.looked)
            if let account, account != rebuilding, !life.gathered.contains(account), try await files.isGathered(account),
                try !files.hasFormer(account)
            {
                learn { $0.gather(account) }
            }
            // It may be another by now.
            let now = try files.home.account
            learn { $0.identify(now) }
            if life.isAtRest { failure = nil }
        } catch {
            note(error)
        }
    }

    /// Notes what stands in the way, and looks again in a while; a home that cannot be read says nothing else.
    private func note(_ error: any Error) {
        failure = error
        logger.error("\(files.path.lastComponent!.string): \(error)")
        retryLater()
    }

    /// Exchanges again where that was ended for an account that is back.
    func resume() {
        guard options.exchangesAutomatically, !isStopped, life.step == nil, life.place.account == life.account, let base = store?.current,
            base.isHalted
        else { return }
        Task { [weak self] in
            do { try await base.run() } catch { await self?.note(error) }
        }
    }

    /// Looks again and sets out after a while; who calls `settled()` does not wait for that.
    func retryLater() {
        guard options.exchangesAutomatically, retrying == nil, !isStopped else { return }
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
