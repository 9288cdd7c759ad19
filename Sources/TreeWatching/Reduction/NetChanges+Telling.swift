/// Derives the changes that lead from the tree that the reader knows to the current tree.
///
/// The current tree is walked from its top, and each entry is moved to its place before the entries below it. Every
/// reported change is also applied to the known tree, so the final state is correct by construction. An entry that
/// blocks a place first moves to its own place, if that is free. Otherwise the two are exchanged, or, if one contains
/// the other, the blocking entry moves aside under a temporary name.
extension NetChanges {
    /// Returns the net changes, between markers.
    consuming func batch() -> TreeChangeBatch {
        var teller = Teller(net: self)
        return teller.tell()
    }

    private struct Teller {
        var net: NetChanges
        var buffer: TreeChangeBuffer
        private var asides = 0

        init(net: NetChanges) {
            self.net = net
            buffer = TreeChangeBuffer(root: net.root)
        }

        mutating func tell() -> TreeChangeBatch {
            buffer.append(.overflow, tick: net.tick, time: net.time)
            var stack = [NetChanges.top]
            while let number = stack.popLast() {
                if number == NetChanges.top { sayChanges(of: net.entries[number], number) } else { place(number) }
                net.entries[number].isPlaced = true
                stack += net.entries[number].children.values.sorted { net.entries[$0].order > net.entries[$1].order }
            }
            takeBack(below: NetChanges.top)
            buffer.append(.rescanned, tick: net.tick, time: net.time)
            if let state = net.rootState, state.code != .ready { buffer.append(state.code, tick: net.tick, time: net.time, loss: state.loss) }
            return buffer.take()
        }

        // MARK: Placing

        private mutating func place(_ number: Number) {
            let entry = net.entries[number]
            guard let parent = entry.parent else { return }
            if entry.knownParent == parent, entry.knownName == entry.name {
                sayChanges(of: entry, number)
                return
            }
            var replacesFile = false
            if let occupant = net.entries[parent].knownChildren[entry.name] {
                if isOver(occupant) {
                    replacesFile = !entry.isDirectory && !net.entries[occupant].isDirectory
                    if replacesFile { forget(occupant) } else { takeBack(occupant) }
                } else if !moveOn(occupant) {
                    if entry.knownParent != nil, !isKnown(number, below: occupant) {
                        exchange(number, occupant)
                        sayChanges(of: entry, number)
                        return
                    }
                    stepAside(occupant)
                }
            }
            if entry.knownParent != nil {
                move(number, to: parent, entry.name, as: replacesFile ? .modified : .moved)
                sayChanges(of: entry, number)
            } else {
                enter(number, in: parent, entry.name)
                say(replacesFile ? .modified : .created, number)
            }
        }

        private mutating func sayChanges(of entry: Entry, _ number: Number) {
            if entry.isModified { say(.modified, number) } else if entry.hasAttributes { say(.attributes, number) }
        }

        /// Returns whether an entry is gone together with everything below it that the reader knows.
        private func isOver(_ number: Number) -> Bool {
            var stack = [number]
            while let next = stack.popLast() {
                if net.entries[next].parent != nil { return false }
                stack += net.entries[next].knownChildren.values
            }
            return true
        }

        /// Moves an entry to its current place, and first moves any entry that blocks it; false if that is not possible
        /// yet.
        private mutating func moveOn(_ number: Number) -> Bool {
            var chain = [number]
            var seen: Set<Number> = [number]
            while let last = chain.last {
                guard let parent = net.entries[last].parent, net.entries[parent].isPlaced else { return false }
                guard let occupant = net.entries[parent].knownChildren[net.entries[last].name] else { break }
                guard seen.insert(occupant).inserted else { return false }
                chain.append(occupant)
            }
            for number in chain.reversed() {
                let entry = net.entries[number]
                guard let parent = entry.parent else { return false }
                move(number, to: parent, entry.name, as: .moved)
            }
            return true
        }

        private mutating func exchange(_ a: Number, _ b: Number) {
            let (first, second) = (net.entries[a], net.entries[b])
            guard let parent = first.knownParent, let other = second.knownParent else { return }
            let (source, target) = (path(of: a), path(of: b))
            forget(a)
            forget(b)
            enter(a, in: other, second.knownName)
            enter(b, in: parent, first.knownName)
            say(.moved, a, from: source, isExchange: true)
            say(.moved, b, from: target, isExchange: true)
        }

        private mutating func stepAside(_ number: Number) {
            guard let parent = net.entries[number].knownParent else { return }
            asides += 1
            move(number, to: parent, Array(".moving-\(net.tick)-\(asides)".utf8), as: .moved)
        }

        // MARK: Removing

        /// Reports the removal of an entry and of everything below it that the reader knows, deepest first.
        private mutating func takeBack(_ number: Number) {
            takeBack(below: number)
            say(.removed, number)
            forget(number)
        }

        private mutating func takeBack(below top: Number) {
            var order: [Number] = []
            var stack = Array(net.entries[top].knownChildren.values)
            while let next = stack.popLast() {
                order.append(next)
                stack += net.entries[next].knownChildren.values
            }
            for number in order.reversed() where net.entries[number].parent == nil {
                say(.removed, number)
                forget(number)
            }
        }

        // MARK: The known tree

        private func isKnown(_ number: Number, below ancestor: Number) -> Bool {
            var next: Number? = number
            while let current = next {
                if current == ancestor { return true }
                next = net.entries[current].knownParent
            }
            return false
        }

        private mutating func forget(_ number: Number) {
            if let parent = net.entries[number].knownParent { net.entries[parent].knownChildren[net.entries[number].knownName] = nil }
            net.entries[number].knownParent = nil
        }

        private mutating func enter(_ number: Number, in parent: Number, _ name: [UInt8]) {
            net.entries[number].knownParent = parent
            net.entries[number].knownName = name
            net.entries[parent].knownChildren[name] = number
        }

        private mutating func move(_ number: Number, to parent: Number, _ name: [UInt8], as code: TreeChangeRecord.Code) {
            let source = path(of: number)
            forget(number)
            enter(number, in: parent, name)
            say(code, number, from: source)
        }

        private func path(of number: Number) -> [UInt8] {
            var names: [[UInt8]] = []
            var next = number
            while let parent = net.entries[next].knownParent {
                names.append(net.entries[next].knownName)
                next = parent
            }
            return Array(names.reversed().joined(separator: [0x2F]))
        }

        private mutating func say(_ code: TreeChangeRecord.Code, _ number: Number, from source: [UInt8]? = nil, isExchange: Bool = false) {
            var record = TreeChangeRecord(tick: net.tick, time: net.time, code: code)
            record.isDirectory = net.entries[number].isDirectory
            record.isExchange = isExchange
            buffer.append(record, path: path(of: number), source: source)
        }
    }
}
