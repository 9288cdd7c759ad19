internal import SystemPackage

/// The state of a container at one moment, as far as it shows a wipe.
struct ContainerSighting: Hashable, Sendable {
    var isSignedIn = true
    var attachment = ContainerAttachment.attached
    /// The number of files that belong to no store and are no mark.
    var items = 0
    /// The epoch of each store with content; 1 if no mark names another.
    var epochs: [String: Int64] = [:]

    /// Whether the container's directory is missing.
    var isGone: Bool { attachment == .detached(.containerGone) || attachment == .detached(.rootGone) }

    var held: ContainerEvent.Held { .init(items: items, stores: Set(epochs.keys), hasMark: attachment == .attached) }
}

extension ContainerSighting {
    /// Inspects a container; a file that disappears meanwhile counts as gone.
    ///
    /// Blocks while it lists the whole container.
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
            // A document that is elsewhere counts by its placeholder.
            guard !isLeftOut(name), Placeholder.isName(name) || !ForeignNames.matches(name) else { return count }
            let path = directory.appending(name)
            return switch try? files.kind(of: path) {
            case .directory: count + self.count(path, files)
            case .file, .other: count + 1
            case nil: count
            }
        }
    }
}
