internal import Foundation
package import SystemPackage

extension ContainerWipe {
    private static let remainsPrefix = ".\(UbiquityContainer.storesName)."

    /// Where a wipe puts the contents of a container's stores before it deletes them: where no synchroniser looks and no store writes.
    static func newRemains(in container: FilePath) -> FilePath {
        container.appending("\(remainsPrefix)\(UUID().uuidString)\(ItemPath.excludedSuffix)")
    }

    /// What wipes that are under way, or were cut short, have not deleted yet of the contents of a container's stores.
    ///
    /// - Parameter container: the container's directory.
    /// - Returns: the directories; none where the container cannot be listed.
    package static func remains(in container: FilePath) -> [FilePath] {
        let names = (try? LinuxFileLayer().names(in: container)) ?? []
        return names.filter { $0.hasPrefix(remainsPrefix) && $0.hasSuffix(ItemPath.excludedSuffix) }.sorted().map { container.appending($0) }
    }
}
