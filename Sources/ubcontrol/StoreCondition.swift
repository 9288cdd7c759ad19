import ConfiguredTransports
import StoreInspection
import SystemPackage
import ToolSupport
import UbiquityContainers
import UbiquityStores

/// The condition of a store that this device's apps have opened for the signed-in account, and the remedies if it does
/// not exchange.
struct StoreCondition: Encodable {
    /// The path that the app gave it.
    var path: String
    /// The summary of its file; nil if the file cannot be read, or is gone.
    var summary: StoreSummary?
    /// The reason why it does not exchange; nil if it does.
    var hindrance: String?
    /// The exact commands that remove the hindrance; empty if the app or the synchroniser must remove it.
    var remedies: [String] = []
    /// How far its changes have got; nil if it does not exchange.
    var delivery: StoreDelivery?
    /// Whether the hindrance is the loss of its content in the container.
    var isContentGone = false

    /// Returns the signed-in account's stores that the device home knows.
    ///
    /// - Parameters:
    ///   - home: the device home.
    ///   - containers: the account's containers.
    /// - Returns: each store's file of the account, by path; including stores whose files are gone or cannot be read.
    static func all(of home: DeviceHome, in containers: [KnownContainer]) -> [StoreCondition] {
        guard let account = try? home.account else { return [] }
        return home.knownStores.flatMap { known -> [StoreCondition] in
            let files = InspectedStore.files(at: FilePath(known.path))
            if files.isEmpty { return [StoreCondition(path: known.path, hindrance: "its files are gone", remedies: [])] }
            let conditions = files.compactMap { file -> StoreCondition? in
                do {
                    return try InspectedStore.look(at: file) { inspection in
                        let summary = try inspection.summary()
                        guard summary.account == account.description, summary.container == known.container, summary.content == known.content,
                            ["account", "fallback"].contains(summary.place)
                        else { return nil }
                        return try StoreCondition(of: inspection, known, summary, containers.first { $0.identifier.description == known.container })
                    }
                } catch {
                    return StoreCondition(path: known.path, hindrance: "\(error)", remedies: [])
                }
            }
            // The fallback file stays after the account's file has taken its saves.
            let isRead = conditions.contains { $0.summary?.place == "account" }
            return isRead ? conditions.filter { $0.summary?.place != "fallback" } : conditions
        }
    }

    /// Adds to each store how far its changes have got.
    ///
    /// - Parameters:
    ///   - stores: the stores.
    ///   - home: the device home.
    ///   - containers: the account's containers.
    /// - Returns: the stores with their deliveries, as far as their transport can be asked.
    static func withDeliveries(_ stores: [StoreCondition], _ home: DeviceHome, _ containers: [KnownContainer]) async -> [StoreCondition] {
        var stores = stores
        var conditions: [FilePath: TransportCondition] = [:]
        for index in stores.indices where stores[index].hindrance == nil {
            guard let summary = stores[index].summary,
                let path = containers.first(where: { $0.identifier.description == summary.container })?.path,
                let transport = try? configuredTransport(for: path, home: home)
            else { continue }
            if conditions[path] == nil { conditions[path] = try? await transport.condition() }
            stores[index].delivery = await summary.delivery(in: path, by: transport, conditions[path])
        }
        return stores
    }

    private init(path: String, hindrance: String?, remedies: [String]) { (self.path, self.hindrance, self.remedies) = (path, hindrance, remedies) }

    private init(of inspection: InspectedStore, _ known: KnownStore, _ summary: StoreSummary, _ container: KnownContainer?) throws {
        path = known.path
        self.summary = summary
        guard summary.place == "account" else { return }
        let file = summary.file.shellWord
        if summary.isPaused {
            hindrance = "it is paused: nothing goes out or in, and nothing is discarded"
            remedies = ["ubcontrol store resume \(file)"]
            return
        }
        // The container's own line reports problems of the whole container.
        guard let container, PathFacts(at: container.path).kind == .directory else { return }
        let exchange = try inspection.exchange(with: container.path)
        guard exchange.isContentGone else { return }
        isContentGone = true
        if let request = summary.request {
            hindrance = "its content is gone from the container, and the app has been asked to \(request): it does so with its next exchange"
        } else {
            hindrance = "its content is gone from the container: it is suspended, and keeps everything"
            remedies = ["ubcontrol store republish \(file)", "ubcontrol store follow \(file)"]
        }
    }

    /// The meaning of the two answers to a wipe.
    static let answers = "the first restores this device's data, the second confirms the removal on all devices"
}

/// Unsent saves for an account that is not signed in.
struct UnsentSaves: Encodable {
    /// The path that the app gave the store.
    var path: String
    var account: String
    var content: String
    var container: String

    /// Returns the unsent saves for other accounts in the stores that the device home knows.
    ///
    /// - Parameter home: the device home.
    /// - Returns: each store's account with unsent saves; unreadable files are left out.
    static func all(of home: DeviceHome) -> [UnsentSaves] {
        let present = (try? home.account)?.description
        return home.knownStores.flatMap { known in
            let waiting = InspectedStore.files(at: FilePath(known.path)).compactMap { file -> String? in
                guard let summary = try? InspectedStore.look(at: file, { try $0.summary() }), summary.account != present,
                    ["account", "fallback"].contains(summary.place), summary.unpublished > 0 || summary.isNoted
                else { return nil }
                return summary.account
            }
            return Set(waiting).sorted().map { UnsentSaves(path: known.path, account: $0, content: known.content, container: known.container) }
        }
    }
}
