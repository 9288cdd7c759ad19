internal import FileCoordination
internal import Foundation
internal import UbiquityContainers

/// What apps and tools ask of an agent.
extension TransferAgent {
    /// Answers a request; `follow` is answered by ``statuses()``.
    package func answer(_ request: TransferRequest) async -> TransferAnswer {
        do {
            switch request {
            case .status, .follow: return .status(await currentStatus())
            case .published:
                dirty = dirty.orEverythingIfNothing
                isWoken = true
                wakes.end.yield(.changed)
                return .done
            case .now:
                await passNow()
                return .status(await currentStatus())
            case .pause:
                try configure { $0.paused = true }
                passing?.cancel()
                await passNow()
                return .status(await currentStatus())
            case .resume:
                try configure { $0.paused = nil }
                await passNow()
                return .status(await currentStatus())
            case .limit(let limit):
                try configure { $0.bytesPerSecond = limit }
                // Also what is on its way is limited at once.
                try? await run?.store.limit(bytesPerSecond: limit)
                await passNow()
                return .status(await currentStatus())
            case .metered(let isMetered):
                try configure { $0.metered = isMetered ? true : nil }
                // A pass that is under way reads it from here.
                run?.cloud.metered = isMetered ? true : nil
                status.isMetered = isMetered
                // The schedule is another one now.
                isWoken = true
                wakes.end.yield(.changed)
                return .status(await currentStatus())
            case .republish:
                try await requireRun().runner.republish()
                dirty = .everything
                await passNow()
                return .status(await currentStatus())
            case .verify:
                let found = try await requireRun().runner.verify()
                wantsPass = true
                wakes.end.yield(.changed)
                return .verified(found)
            case .allowRemovals(let container):
                // It stays allowed until it has happened.
                allowed.insert(container)
                await passNow()
                return .status(await currentStatus())
            case .states(let names):
                let run = try requireRun()
                var states: [String: TransferItemState] = [:]
                for name in names {
                    if let path = TransferPath(name, of: run.account) {
                        states[name] = TransferItemState(await run.runner.state(of: path))
                    } else if let path = DocumentPath(of: name, FileCoordinator.filePackages) {
                        states[name] = TransferItemState(await run.runner.state(of: path))
                    }
                }
                return .states(states)
            case .fetch(let names, let waits):
                try await fetch(names, waits: waits)
                return .done
            case .evict(let name):
                let run = try requireRun()
                try await run.runner.evict(try Self.document(name))
                tell()
                return .done
            case .downloadsChanged:
                await run?.runner.set(try situation(try requireRun()))
                isWoken = true
                wakes.end.yield(.changed)
                return .done
            case .elsewhere(let directory):
                let run = try requireRun()
                return .states(await run.runner.elsewhere(below: directory).mapValues(TransferItemState.init))
            }
        } catch {
            return .failed("\(error)")
        }
    }

    private static func document(_ name: String) throws -> DocumentPath {
        guard let path = DocumentPath(of: name, FileCoordinator.filePackages) else {
            throw OnDemandRefusal("\(name) is no document in a container; files of stores are always on each device.")
        }
        return path
    }

    /// Fetches documents, each beside whatever else is transferred.
    private func fetch(_ names: [String], waits: Bool) async throws {
        let run = try requireRun()
        // Another device's newest bulletin may not have been read yet.
        let paths = try names.map(Self.document)
        for path in paths where await !run.runner.knows(path) {
            await passNow()
            break
        }
        var wanted: [DocumentPath] = []
        for path in paths where try await run.runner.want(path) { wanted.append(path) }
        if wanted.count < paths.count {
            // What is here gets its newest version in a pass.
            isWoken = true
            wakes.end.yield(.changed)
        }
        tell()
        let task = Task { [weak self, runner = run.runner, wanted] in
            let result: Result<Void, any Error>
            do {
                for path in wanted { try await runner.fetchNow(path) }
                result = .success(())
            } catch {
                result = .failure(error)
            }
            await self?.tell()
            try result.get()
        }
        guard waits else { return }
        try await task.value
    }

    private func requireRun() throws -> Run {
        guard let run else { throw ObjectStoreError(.unusable, status.reason ?? "the transfer has not begun yet; try again.") }
        return run
    }

    private func configure(_ change: (inout CloudConfiguration) -> Void) throws {
        guard var cloud = try home.home.cloud else {
            throw ObjectStoreError(.unusable, "this device has no cloud; set one up with: ubcontrol setup cloud REMOTE:DIRECTORY")
        }
        change(&cloud)
        try HomeSettings(home.home).configure(["cloud": cloud])
    }

    /// Makes a pass at once, and waits for its end.
    private func passNow() async {
        wantsPass = true
        run?.backoff.reset()
        run?.lastActivity = .now
        await withCheckedContinuation { waiter in
            waiters.append(waiter)
            wakes.end.yield(.changed)
        }
    }
}

extension TransferAgent.Dirty {
    /// An app that says that it has written does not say what.
    fileprivate var orEverythingIfNothing: Self { if case .nothing = self { .everything } else { self } }
}
