internal import Foundation
internal import StoreFormat
internal import SystemPackage
internal import UbiquityContainers

/// Removes what no reader of a public place needs any more.
struct PlaceCleaner {
    let publisher: PlacePublisher

    /// Removes files that are older than the retention and that a head does not name.
    ///
    /// A file that cannot be removed is left for the next time.
    func removeOld(keeping head: PublishedHead) {
        let named = Set(head.paths.keys.map(publisher.place.path))
        let limit = publisher.now().addingTimeInterval(-(publisher.options.retention / .seconds(1)))
        let root = publisher.place.root.string
        for folder in ["authority", "bundles", "snapshots", "heads", "bases", "values"] {
            guard let all = FileManager.default.enumerator(atPath: "\(root)/\(folder)") else { continue }
            for case let name as String in all {
                let file = FilePath(root).appending(folder).pushing(FilePath(name))
                guard !named.contains(file), let attributes = try? FileManager.default.attributesOfItem(atPath: file.string),
                    attributes[.type] as? FileAttributeType == .typeRegular, let modified = attributes[.modificationDate] as? Date, modified < limit
                else { continue }
                try? publisher.directory.files.remove(file)
            }
        }
    }
}
