internal import SystemPackage

/// A container as it is at one moment, as far as a wipe shows in it.
struct ContainerSighting: Hashable, Sendable {
    var isSignedIn = true
    var attachment = ContainerAttachment.attached
    /// The files that are no store's and no mark.
    var items = 0
    /// The epoch of each store that has content; 1 where no mark says another.
    var epochs: [String: Int64] = [:]

    /// Whether its directory is not there.
    var isGone: Bool { attachment == .detached(.containerGone) || attachment == .detached(.rootGone) }

    var held: ContainerEvent.Held { .init(items: items, stores: Set(epochs.keys), hasMark: attachment == .attached) }
}

extension ContainerSighting {
    /// Looks at a container; what goes meanwhile counts as gone.
    ///
    /// Blocks for as long as it takes to list all of it.
    init(of container: UbiquityContainer) {
        let files = container.files
        isSignedIn = (try? container.home.account) == container.account
        attachment = UbiquityContainer.attachment(of: container.peer, at: container.path, files)
        items = Self.count(container.path, files) { $0 == UbiquityContainer.markDirectoryName || $0 == UbiquityContainer.storesName }
        let stores = container.path.appending(UbiquityContainer.storesName)
        for name in UbiquityContainer.storeContents(of: container.path, files) {
            let marks = (try? files.names(in: stores.pushing(FilePath(name)).appending(UbiquityContainer.epochsName))) ?? []
            epochs[name] = marks.compactMap { mark in mark.split(separator: ".").first.flatMap { Int64($0) } }.max() ?? 1
        }
    }

    private static func count(_ directory: FilePath, _ files: any FileLayer, without isLeftOut: (String) -> Bool = { _ in false }) -> Int {
        ((try? files.names(in: directory)) ?? []).reduce(0) { count, name in
            guard !isLeftOut(name), !ForeignNames.matches(name) else { return count }
            let path = directory.appending(name)
            return switch try? files.kind(of: path) {
            case .directory: count + self.count(path, files)
            case .file, .other: count + 1
            case nil: count
            }
        }
    }
}
