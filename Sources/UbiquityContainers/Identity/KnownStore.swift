internal import Foundation
package import SystemPackage

/// `stores/<number>.json` of the device home: where an app of this device keeps a store of some container's content.
///
/// It is for people alone: tools find with it the stores that belong to a container, and nothing else depends on it. A store writes it when it is opened and no such file says the same; where it cannot,
/// it opens all the same. Each file is replaced whole (temporary file, fsync, rename, fsync of the directory): a crash on the way leaves none, the old one, or a temporary file beside it that nobody
/// reads, and the next opening writes it anew. It is never removed by itself: where a store has gone, tools say so.
package struct KnownStore: Codable, Sendable, Hashable, HomeFormat {
    var format = HomeFormatVersion.current
    /// The path that the app gave its store, absolute.
    package var path: String
    /// The content name.
    package var content: String
    /// The container's identifier.
    package var container: String

    package init(path: FilePath, content: String, container: ContainerIdentifier) {
        self.path = path.string
        self.content = content
        self.container = container.description
    }

    static var remedy: String { "remove it, and open the app once" }

    /// One for one store.
    fileprivate var fileName: String {
        // FNV-1a, 64 bits: the same in every process, and two of the few stores of a device hardly ever meet.
        let hash = [path, content, container].joined(separator: "\n").utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) {
            ($0 ^ UInt64($1)) &* 0x100_0000_01b3
        }
        let digits = String(hash, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits + ".json"
    }
}

extension DeviceHome {
    private var storesDirectory: FilePath { path.appending("stores") }

    /// The stores that have been opened on this device, by path; what cannot be read is left out.
    package var knownStores: [KnownStore] {
        let files = HomeFiles(home: self)
        let names = (try? files.files.names(in: storesDirectory)) ?? []
        let found = names.filter { $0.hasSuffix(".json") && !$0.hasPrefix(".") }.compactMap { name in
            try? files.read(KnownStore.self, from: storesDirectory.appending(name))
        }
        return found.sorted { ($0.path, $0.content, $0.container) < ($1.path, $1.content, $1.container) }
    }

    /// Notes a store, unless it is known; a home that is not there is not made, and what hinders it is passed over.
    ///
    /// - Parameter store: the store.
    package func note(_ store: KnownStore) {
        let files = HomeFiles(home: self)
        let file = storesDirectory.appending(store.fileName)
        if let known = try? files.read(KnownStore.self, from: file), known == store { return }
        guard (try? files.files.makeDirectory(storesDirectory)) != nil else { return }
        try? files.write(store, to: file)
    }
}
