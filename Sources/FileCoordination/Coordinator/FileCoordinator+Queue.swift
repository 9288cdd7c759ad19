public import Foundation

extension FileCoordinator {
    /// Accesses any number of items under one claim, without blocking the caller.
    ///
    /// - Parameters:
    ///   - intents: the items; when the accessor runs, each intent's `url` is the current URL of its item.
    ///   - queue: the queue that runs the accessor, exactly once in every case. A suspended queue delays a granted
    ///     claim.
    ///   - accessor: gets nil when the access was granted, which lasts until the accessor returns; otherwise the error.
    public func coordinate(
        with intents: [FileAccessIntent], queue: OperationQueue, byAccessor accessor: @escaping @Sendable ((any Error)?) -> Void
    ) {
        guard !intents.isEmpty else { return queue.addOperation { accessor(nil) } }
        let run: AccessRun
        do {
            // The caller continues, so its surroundings do not wait for this access, and the access is not nested in
            // them.
            run = try AccessRun(self, intents.map { try .init($0.url, $0.access) }, outer: nil)
        } catch {
            return queue.addOperation { accessor(error) }
        }
        let proceed: @Sendable (CoordinationClient.Outcome) -> Void = { outcome in
            queue.addOperation {
                do {
                    guard let opened = try run.open(outcome.get()) else {
                        return self.coordinate(with: intents, queue: queue, byAccessor: accessor)
                    }
                    let snapshots: [UploadSnapshot?]
                    do { snapshots = try run.snapshots(of: opened) } catch {
                        run.close(opened)
                        throw error
                    }
                    for (intent, url) in zip(intents, run.urls(opened, snapshots)) { intent.url = url }
                    let endsEarly = run.isForUploadingOnly
                    if endsEarly { run.close(opened) }
                    CoordinationContext.$current.withValue(endsEarly ? nil : run.context) { accessor(nil) }
                    if !endsEarly { run.close(opened) }
                    for snapshot in snapshots { snapshot?.remove() }
                } catch {
                    accessor(error)
                }
            }
        }
        if let grant = run.immediate { proceed(.success(grant)) } else { client.onOutcome(of: run.id, proceed) }
    }
}
