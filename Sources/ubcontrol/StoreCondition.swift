import StoreInspection
import SystemPackage
import ToolSupport
import UbiquityContainers
import UbiquityStores

/// How a store of the signed-in account stands that this device's apps have opened, and what lets it go on where it does not exchange.
struct StoreCondition: Encodable {
    /// The path that the app gave it.
    var path: String
    /// What its file says of itself; nil where it cannot be read, or is gone.
    var summary: StoreSummary?
    /// Why nothing goes out of it or in; nil where nothing hinders that.
    var hindrance: String?
    /// The commands that end that, exact; none where it is for the app or the synchroniser to do.
    var remedies: [String] = []
    /// Whether the hindrance is that its content is gone from the container.
    var isContentGone = false

    /// The stores that the device home knows, of the signed-in account.
    ///
    /// - Parameters:
    ///   - home: the device home.
    ///   - containers: the account's containers.
    /// - Returns: each store's file of the account, by path; a store whose files are gone, or cannot be read, is among them.
    static func all(of home: DeviceHome, in containers: [KnownContainer]) -> [StoreCondition] {
        guard let account = try? home.account else { return [] }
        return home.knownStores.flatMap { known -> [StoreCondition] in
            let files = StoreInspection.files(at: FilePath(known.path))
            if files.isEmpty { return [StoreCondition(path: known.path, hindrance: "its files are gone", remedies: [])] }
            let conditions = files.compactMap { file -> StoreCondition? in
                do {
                    return try StoreInspection.look(at: file) { inspection in
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
            // The fallback file stays where it is once the account's own has taken in what was saved there.
            let isRead = conditions.contains { $0.summary?.place == "account" }
            return isRead ? conditions.filter { $0.summary?.place != "fallback" } : conditions
        }
    }

    private init(path: String, hindrance: String?, remedies: [String]) { (self.path, self.hindrance, self.remedies) = (path, hindrance, remedies) }

    private init(of inspection: StoreInspection, _ known: KnownStore, _ summary: StoreSummary, _ container: KnownContainer?) throws {
        path = known.path
        self.summary = summary
        guard summary.place == "account" else { return }
        let file = summary.file.shellWord
        if summary.isPaused {
            hindrance = "it is paused: nothing goes out or in, and nothing is discarded"
            remedies = ["ubcontrol store resume \(file)"]
            return
        }
        // What befalls a container as a whole is told of that.
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

    /// What the two answers to a wipe mean, in words.
    static let answers = "the first puts back what this device has, the second has it count as removed on all devices"
}

/// What was saved for an account that is not signed in, and has not gone out.
struct UnsentSaves: Encodable {
    /// The path that the app gave the store.
    var path: String
    var account: String
    var content: String
    var container: String

    /// What the stores that the device home knows keep for other accounts than the one that is signed in.
    ///
    /// - Parameter home: the device home.
    /// - Returns: each store's account with something that has not gone out; a file that cannot be read is left out.
    static func all(of home: DeviceHome) -> [UnsentSaves] {
        let present = (try? home.account)?.description
        return home.knownStores.flatMap { known in
            let waiting = StoreInspection.files(at: FilePath(known.path)).compactMap { file -> String? in
                guard let summary = try? StoreInspection.look(at: file, { try $0.summary() }), summary.account != present,
                    ["account", "fallback"].contains(summary.place), summary.unpublished > 0 || summary.isNoted
                else { return nil }
                return summary.account
            }
            return Set(waiting).sorted().map { UnsentSaves(path: known.path, account: $0, content: known.content, container: known.container) }
        }
    }
}
