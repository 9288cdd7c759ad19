import Foundation
import UbiquityContainers

/// One run of a query under Cocoa's name, from its start to its stop: finds the containers, and passes the news on to the query's queue.
struct MetadataQueryRun: Sendable {
    let number: UInt64
    let search: MetadataSearch
    weak let query: NSMetadataQuery?

    func run() async {
        guard let home = search.home ?? (try? UbiquityFoundationHome.current) else { return await showNothing() }
        let token = (try? home.ubiquityIdentityToken) ?? nil
        let containers = await search.containers(in: home)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await follow(containers) }
            group.addTask { await restart(whenSignedInElse: token, home) }
            for await _ in group {}
        }
    }

    /// Shows the results in the containers.
    private func follow(_ containers: [UbiquityContainer]) async {
        guard !containers.isEmpty else { return await showNothing() }
        let base = search.query(containers)
        guard query?.adopt(base, number) == true else { return }
        var updates = base.updates.makeAsyncIterator()
        base.start()
        while let update = await updates.next() { await show(QueryNews(update)) }
    }

    private func showNothing() async {
        await show(QueryNews(.gatheringBegan))
        await show(QueryNews(.gatheringFinished))
    }

    /// Begins again when another account than the one at the start signs in.
    private func restart(whenSignedInElse token: UbiquityIdentityToken?, _ home: DeviceHome) async {
        guard let changes = try? home.identityChanges else { return }
        for await present in changes where present != nil && present != token {
            query?.restart(number)
            return
        }
    }

    /// Shows news on the query's queue, and returns when its observers have been told.
    private func show(_ news: QueryNews) async {
        guard let queue = query?.notificationQueue else { return }
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            queue.addOperation(
                QueueOperation {
                    query?.show(news, number)
                    continuation.resume()
                })
        }
    }
}
