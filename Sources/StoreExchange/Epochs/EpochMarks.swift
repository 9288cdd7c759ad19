internal import StoreFormat
package import SystemPackage
package import UbiquityContainers

/// The marks of a content's epochs, as found in `epochs/`.
package struct EpochMarks {
    private let layout: ContentLayout
    private let files: any FileLayer
    /// The names of the marks, by epoch.
    let names: [Int64: [String]]

    /// Lists the marks.
    ///
    /// There are none if the directory does not exist.
    package init(of layout: ContentLayout, files: any FileLayer) throws(Errno) {
        self.layout = layout
        self.files = files
        var names: [Int64: [String]] = [:]
        for name in try files.namesIfThere(in: layout.epochs) {
            if let epoch = ContentLayout.epoch(ofMark: name) { names[epoch, default: []].append(name) }
        }
        self.names = names
    }

    /// The present epoch according to the marks, or 0 if there are none.
    package var present: Int64 { names.keys.max() ?? 0 }

    /// Returns the joint knowledge of all peers that ended an epoch.
    ///
    /// Two marks with one number mean one epoch.
    ///
    /// A mark that cannot be read adds nothing, so that logs count as unread rather than as read.
    func knowledge(of ended: Int64) -> Knowledge {
        var known = Knowledge()
        for name in names[ended + 1] ?? [] {
            guard let bytes = try? files.read(layout.epochs.appending(name), limit: 16 << 20), let mark = EpochMark(decoding: bytes) else { continue }
            let stated = mark.stated
            for entry in stated.entries { known.insert(entry.position, of: entry.peer) }
            for (peer, positions) in stated.holes { for position in positions { known.insertHole(position, of: peer) } }
        }
        return known
    }
}
