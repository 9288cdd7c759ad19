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
            return files.compactMap { file in
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
